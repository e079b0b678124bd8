package teamfile

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"waggle/agent"
	"waggle/internal/json/jsonobj"
)

// yamlRule is how a script that is the lead answers.
type yamlRule struct {
	Answer string       `yaml:"answer"`
	Reason string       `yaml:"reason"`
	After  yamlDuration `yaml:"after"`
	Words  string       `yaml:"words"`
}

// yamlStep is an agent.Step; the parts that a file writes in another way have structs of their own.
type yamlStep struct {
	Say      *agent.SayStep      `yaml:"say"`
	Tool     *yamlTool           `yaml:"tool"`
	Plan     *yamlPlan           `yaml:"plan"`
	Network  *agent.NetworkStep  `yaml:"network"`
	Ask      *agent.AskStep      `yaml:"ask_question"`
	Progress *agent.ProgressStep `yaml:"progress"`
	Use      *yamlUse            `yaml:"use"`
	Fail     string              `yaml:"fail"`
	Wait     *yamlWait           `yaml:"wait"`
}

type yamlPlan struct {
	Revisions yamlTexts `yaml:"revisions"`
	Withdraw  *yamlWait `yaml:"withdraw"`
}

// yamlTexts is a list of texts, or one text alone.
type yamlTexts []string

type yamlWait struct {
	Until string `yaml:"until"`
	time  yamlDuration
}

type yamlUse struct {
	USD    float64   `yaml:"usd"`
	Tokens yamlCount `yaml:"tokens"`
}

type yamlTool struct {
	Name   string         `yaml:"name"`
	Input  map[string]any `yaml:"input"`
	Reason string         `yaml:"reason"`
	Expect string         `yaml:"expect"`
}

func steps(key string, ys []yamlStep) (list []agent.Step, err error) {
	for i, st := range ys {
		step, err := st.step()
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", key, i, err)
		}
		list = append(list, step)
	}
	return list, nil
}

// UnmarshalYAML reads {until} or a time alone.
func (w *yamlWait) UnmarshalYAML(n ast.Node) error {
	if isScalar(n) {
		return w.time.UnmarshalYAML(n)
	}
	type whole yamlWait
	return yaml.NodeToValue(n, (*whole)(w), yaml.Strict())
}

func (y yamlStep) step() (agent.Step, error) {
	s := agent.Step{Say: y.Say, Network: y.Network, Ask: y.Ask, Progress: y.Progress, Wait: y.Wait.step()}
	if y.Tool != nil {
		in, err := jsonobj.Marshal(y.Tool.Input)
		if err != nil {
			return s, err
		}
		s.Tool = &agent.ToolStep{Name: y.Tool.Name, Input: in, Reason: y.Tool.Reason, Expect: y.Tool.Expect}
	}
	if y.Use != nil {
		s.Use = &agent.UseStep{USD: y.Use.USD, Tokens: int64(y.Use.Tokens)}
	}
	if y.Fail != "" {
		s.Fail = &agent.FailStep{Reason: y.Fail}
	}
	if y.Plan != nil {
		if y.Plan.Revisions == nil {
			return s, errors.New("plan wants revisions")
		}
		s.Plan = &agent.PlanStep{Revisions: y.Plan.Revisions, Withdraw: y.Plan.Withdraw.step()}
	}
	return s, nil
}

// step is nil without a wait.
func (w *yamlWait) step() *agent.WaitStep {
	if w == nil {
		return nil
	}
	return &agent.WaitStep{For: agent.Duration(w.time), Until: w.Until}
}
