package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"waggle/mailbox"
	"waggle/protocol"
)

// ours is a mailbox that one process has open.
type ours struct {
	box  *mailbox.Box
	last []mailbox.Entry
}

func newWaggle(path string) (side, error) {
	box, err := mailbox.Dir{Path: filepath.Dir(path)}.Open("tester", mailbox.Options{})
	return &ours{box: box}, err
}

func (o *ours) append(ctx context.Context, e protocol.Envelope) error { return o.box.Append(ctx, e) }

func (o *ours) unread(ctx context.Context) (int, error) {
	var err error
	o.last, err = o.box.Unread(ctx)
	return len(o.last), err
}

func (o *ours) mark(ctx context.Context) error {
	if len(o.last) == 0 {
		return errors.New("nothing to mark")
	}
	return o.box.MarkRead(ctx, o.last[len(o.last)-1].ID)
}

// peers is what the real client and its clones do (protocol §2.3).
type peers struct{ path string }

func (p peers) edit(change func([]map[string]any) []map[string]any) error {
	for {
		err := os.Mkdir(p.path+".lock", 0o777)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrExist) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	defer os.Remove(p.path + ".lock")
	list, err := p.read()
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(change(list)); err != nil {
		return err
	}
	tmp := p.path + ".tmp.01234567"
	if err := os.WriteFile(tmp, buf.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, p.path)
}

func (p peers) read() (list []map[string]any, err error) {
	data, err := os.ReadFile(p.path)
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	return list, err
}

func (p peers) append(_ context.Context, e protocol.Envelope) error {
	var m map[string]any
	if err := json.Unmarshal(e.AppendJSON(nil), &m); err != nil {
		return err
	}
	return p.edit(func(list []map[string]any) []map[string]any { return append(list, m) })
}

func (p peers) unread(context.Context) (n int, err error) {
	list, err := p.read()
	for _, e := range list {
		if e["read"] != true {
			n++
		}
	}
	return n, err
}

func (p peers) mark(context.Context) error {
	return p.edit(func(list []map[string]any) []map[string]any {
		list[len(list)-1]["read"] = true
		return list
	})
}
