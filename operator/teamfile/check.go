package teamfile

import (
	"strings"
	"time"

	"waggle/agent"
	"waggle/record"
)

// yamlCheck is a shell text alone, or with its limits.
type yamlCheck struct {
	Run     string        `yaml:"run"`
	Returns *yamlCount    `yaml:"returns"`
	Timeout *yamlDuration `yaml:"timeout"`
}

// check reads a check that runs in dir; nil when there is none.
func (c *checker) check(at string, y *yamlCheck, dir string) *record.Check {
	if y == nil {
		return nil
	}
	k := record.Check{Command: strings.TrimSpace(y.Run), Dir: dir, Returns: record.CheckReturns}
	if k.Command == "" {
		c.bad(at, "a command is not empty")
	}
	if y.Timeout != nil {
		if k.TimeoutMS = time.Duration(*y.Timeout).Milliseconds(); k.TimeoutMS <= 0 {
			c.bad(at+".timeout", "want a time of at least a millisecond")
		}
	}
	if y.Returns != nil {
		k.Returns = int(*y.Returns)
	}
	if k.Returns < 0 || k.Returns > record.MaxCheckReturns {
		c.bad(at+".returns", "want a number from 0 to %d", record.MaxCheckReturns)
	}
	return &k
}

// Checks reports whether the check of the team's file decides the member's tasks too.
func (m *FileMember) Checks() bool { return agent.SaysSo(m.Agent) }
