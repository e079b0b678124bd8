package operator

import (
	"context"
	"encoding/json"
	"strings"

	"waggle"
	"waggle/control"
	"waggle/internal/atomicfile"
	"waggle/team"
)

// StoredMessage is a message where it lies, and what the journals know of it.
type StoredMessage struct {
	To     string          `json:"to"`
	Entry  InboxEntry      `json:"entry"`
	Raw    json.RawMessage `json:"raw"`
	States []MessageState  `json:"states"`
}

// MessageState is one step of a message's way.
type MessageState struct {
	State  string `json:"state"` // written, sent, taken, applied, answered, seen, unverified, read
	At     string `json:"at"`
	Detail string `json:"detail"`
}

// Message finds messages by msg_id, or by the beginning of their id, in every
// mailbox of a team. A broadcast has as many as it had recipients.
func (o Operator) Message(ctx context.Context, name waggle.TeamName, id string) ([]StoredMessage, error) {
	reg, err := team.Open(o.Root, name, atomicfile.Options{})
	if err != nil {
		return nil, err
	}
	cfg, err := reg.Load(ctx)
	if err != nil {
		return nil, err
	}
	names, err := o.Boxes(name).Names()
	if err != nil {
		return nil, err
	}
	s, err := o.State(ctx, name)
	if err != nil {
		return nil, err
	}
	var msgs []StoredMessage
	for _, n := range names {
		box, err := o.box(cfg, n, nil)
		if err != nil {
			return nil, err
		}
		entries, err := box.Entries(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if id == "" || (e.Envelope.MsgID != id && !strings.HasPrefix(e.ID.String(), id)) {
				continue
			}
			m := StoredMessage{To: string(n), Entry: inboxEntry(e), Raw: e.Raw, States: []MessageState{{State: "written", At: e.Envelope.Timestamp}}}
			if s != nil {
				if m.States, err = s.trace(m, n); err != nil {
					return nil, err
				}
			}
			if e.Envelope.Read {
				m.States = append(m.States, MessageState{State: "read", Detail: "marked in the mailbox"})
			}
			msgs = append(msgs, m)
		}
	}
	if len(msgs) == 0 {
		return nil, &team.NotFoundError{What: "message", Name: id}
	}
	return msgs, nil
}

// trace follows a message through the journals.
func (s *State) trace(m StoredMessage, box waggle.MemberName) ([]MessageState, error) {
	recs, err := s.Records()
	if err != nil {
		return nil, err
	}
	sha := control.HashText(m.Entry.Text)
	var states []MessageState
	for _, r := range recs {
		var b struct {
			Entry   string        `json:"entry"`
			Entries []string      `json:"entries"`
			Box     string        `json:"box"`
			Why     string        `json:"why"`
			Mail    *control.Mail `json:"mail"`
		}
		if err := json.Unmarshal(r.Body, &b); err != nil {
			return nil, err
		}
		at := waggle.FormatTime(r.Time)
		owner := r.Name == string(box) || (r.Name == "leader" && box == waggle.Lead)
		switch {
		case b.Mail != nil && b.Mail.To == box && b.Mail.SHA256 == sha:
			states = append(states, MessageState{State: r.Kind, At: at, Detail: "on record in the journal of " + r.Name + " before it was sent"})
		case owner && (b.Entry == m.Entry.ID || contained(b.Entries, m.Entry.ID)):
			states = append(states, MessageState{State: r.Kind, At: at, Detail: b.Why})
		}
	}
	return append([]MessageState{{State: "written", At: m.Entry.Timestamp}}, states...), nil
}

func contained(ss []string, s string) bool {
	for _, have := range ss {
		if have == s {
			return true
		}
	}
	return false
}
