package tui

import (
	"encoding/json"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"waggle/internal/json/jsonobj"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// editor has a person change a text in an editor, and tells the model what came of it. The name ends
// the name of its file.
type editor func(text, name string, then func(text string, err error) tea.Msg) tea.Cmd

type (
	editedMsg struct {
		of   decide.Request
		text string
		err  error
	}
	changedMsg struct {
		of, as decide.Request
		input  string
		err    error
	}
)

// change is another input for a request. It is shown before it can be allowed.
type change struct {
	of, as decide.Request
	input  string
}

// editable reports whether the input of a request can be changed.
func editable(q decide.Request) bool {
	return q.Kind != decide.KindProposal && record.GateOf(protocol.Kind(q.Kind)) == policy.GateTool && json.Valid(q.Input)
}

// startEdit opens the input of the selected request in the person's editor: the command of a shell
// call, else the whole input.
func (m *model) startEdit() tea.Cmd {
	q := m.open()
	switch {
	case q == nil:
		return m.say("nothing to answer here")
	case !editable(*q):
		return m.say("only the input of a tool call can be edited")
	}
	of := *q
	text, name := inputText(of)
	return m.edit(text, name, func(text string, err error) tea.Msg { return editedMsg{of, text, err} })
}

// inputText is what an editor gets of an input.
func inputText(q decide.Request) (text, name string) {
	if q.Command != "" {
		return q.Command + "\n", "command.sh"
	}
	return string(jsonobj.AppendIndent(nil, q.Input, 0)) + "\n", "input.json"
}

// inputOf is the input with what an editor gave back; "" when nothing has changed.
func inputOf(q decide.Request, text string) (string, error) {
	if before, _ := inputText(q); text == before {
		return "", nil
	}
	if q.Command == "" {
		if text = strings.TrimSpace(text); !json.Valid([]byte(text)) {
			return "", fmt.Errorf("what you wrote is not JSON")
		}
		return text, nil
	}
	o, err := jsonobj.Parse(q.Input)
	if err != nil {
		return "", err
	}
	command, err := jsonobj.Marshal(strings.TrimSuffix(text, "\n"))
	if err != nil {
		return "", err
	}
	o.Set("command", command)
	return string(o.Compact()), nil
}

// edited takes what the editor gave back, and asks what the request would be with it.
func (m *model) edited(msg editedMsg) tea.Cmd {
	var input string
	err := msg.err
	if err != nil {
		err = fmt.Errorf("the editor: %w", err)
	} else {
		input, err = inputOf(msg.of, msg.text)
	}
	switch {
	case err != nil:
		return m.say("nothing was decided: " + m.Explain(err))
	case input == "":
		return m.say("the input is as it was")
	}
	return func() tea.Msg {
		as, err := m.Source.Changed(m.ctx, msg.of, input)
		return changedMsg{msg.of, as, input, err}
	}
}

// takeChanged shows the changed request, unless the cursor has left it.
func (m *model) takeChanged(msg changedMsg) {
	q := m.open()
	switch {
	case msg.err != nil:
		m.flash = "nothing was decided: " + m.Explain(msg.err)
	case q == nil || askKey(q) != askKey(&msg.of) || q.Digest != msg.of.Digest || m.mode == typing:
		m.flash = "nothing was decided: the request was answered or has changed meanwhile"
	default:
		m.mode, m.change = changing, change{msg.of, msg.as, msg.input}
	}
}

// changed is the request that is shown with another input; nil when what was asked has changed.
func (m *model) changed() *decide.Request {
	q := m.open()
	if q == nil || askKey(q) != askKey(&m.change.of) || q.Digest != m.change.of.Digest {
		return nil
	}
	return &m.change.as
}
