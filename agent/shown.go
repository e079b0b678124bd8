package agent

import (
	"encoding/json"
	"fmt"
)

// Command is what an exec member starts for a task.
type Command struct {
	Text  string   // the judged text: the shell text, or argv quoted for a shell
	Argv  []string // the argv to start
	Stdin string   // what it reads: a task's instructions, where the member has a command of its own
}

// ExecCommand says what a member of kind exec with these settings starts for a task,
// unless an answer changes it. It is what Turn starts.
func ExecCommand(spec json.RawMessage, t Task) (Command, error) {
	var s ExecSpec
	if err := decodeSpec(spec, &s); err != nil {
		return Command{}, fmt.Errorf("exec: %w", err)
	}
	c, err := (&execAgent{s}).command(&t)
	if err != nil {
		return Command{}, err
	}
	if c.argv == nil {
		c.argv = []string{"sh", "-c", c.text}
	}
	return Command{Text: c.text, Argv: c.argv, Stdin: c.stdin}, nil
}
