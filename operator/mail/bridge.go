package mail

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"waggle/mailbox"
	"waggle/operator"
	"waggle/protocol"
	"waggle/transport"
)

// bridges returns the mailboxes of a team's editors. They lie in the team's private directory: an
// editor acts for the operator and is no member.
func bridges(s *operator.State) mailbox.Dir { return mailbox.Dir{Path: s.Dir.Bridges()} }

// Bridge is the mailbox of one editor. A message stays in it until the editor has taken it, across
// broken connections.
type Bridge struct{ box *mailbox.Box }

// Unread returns the messages that the editor has not taken, oldest first.
func (b Bridge) Unread(ctx context.Context) ([]InboxEntry, error) {
	entries, err := b.box.Unread(ctx)
	if err != nil {
		return nil, err
	}
	shown := make([]InboxEntry, len(entries))
	for i, e := range entries {
		shown[i] = EntryOf(e)
	}
	return shown, nil
}

// Take marks messages as taken, by InboxEntry.ID. It ignores a message that was removed.
func (b Bridge) Take(ctx context.Context, ids ...string) error {
	taken := make([]mailbox.ID, len(ids))
	for i, s := range ids {
		id, err := mailbox.ParseID(s)
		if err != nil {
			return &operator.Error{Kind: operator.Usage, Op: "take", Err: err}
		}
		taken[i] = id
	}
	return b.box.MarkRead(ctx, taken...)
}

// RegisterBridge opens the mailbox behind bridge:ID, and creates it the first time. The id has the
// form of a member's name. It fails for a team that waggle does not lead.
func (o Operator) RegisterBridge(ctx context.Context, name protocol.TeamName, id string) (Bridge, error) {
	bridge, err := protocol.ParseMember(id)
	if err != nil {
		return Bridge{}, &operator.Error{Kind: operator.Usage, Op: "bridge", Err: err, Advice: "an editor's id is spelled like a member's name"}
	}
	s, err := o.Open(ctx, name, operator.Act)
	if err != nil {
		return Bridge{}, err
	}
	if err := os.MkdirAll(s.Dir.Bridges(), 0o700); err != nil {
		return Bridge{}, fmt.Errorf("bridge: %w", err)
	}
	box, err := bridges(s).Create(bridge, mailbox.Options{})
	return Bridge{box}, err
}

// bridge opens the mailbox of an editor that has registered.
func (o Operator) bridge(ctx context.Context, name protocol.TeamName, to protocol.Address) (mailbox.Store, error) {
	s, err := o.Open(ctx, name, operator.Act)
	if err != nil {
		return nil, err
	}
	missing := &transport.NotFoundError{To: to, Why: "no editor has registered that id", Missing: transport.MissingEditor}
	id, err := protocol.ParseMember(to.Target)
	if err != nil {
		return nil, missing
	}
	box, err := bridges(s).Open(id, mailbox.Options{})
	if err != nil {
		return nil, err
	}
	switch _, err := os.Stat(box.Path()); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, missing
	case err != nil:
		return nil, fmt.Errorf("bridge: %w", err)
	}
	return box, nil
}
