package mailbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waggle/protocol"
)

// Dir is a directory of mailboxes of one layout: a team's inboxes, unless Layout
// says otherwise.
type Dir struct {
	Path   string
	Layout Layout
}

// Open returns the mailbox of a member. It creates nothing; a mailbox without a file is empty.
// Append never creates the inboxes directory's parent: a deleted team stays deleted. Open validates
// the name, whatever its source.
func (d Dir) Open(name protocol.MemberName, o Options) (*Box, error) {
	if _, err := protocol.ParseMember(string(name)); err != nil {
		return nil, fmt.Errorf("mailbox: %w", err)
	}
	return newBox(filepath.Join(d.Path, string(name)+d.Layout.Extension()), d.Layout, o), nil
}

// Create makes an empty mailbox ("[]", or an empty file of lines) when there is none, and the
// directory when only that is missing. It waits for the mailbox's lock until the deadline of o.
func (d Dir) Create(name protocol.MemberName, o Options) (*Box, error) {
	b, err := d.Open(name, o)
	if err != nil {
		return nil, err
	}
	if err := b.create(context.Background()); err != nil {
		return nil, err
	}
	return b, nil
}

// Names lists the members that have a mailbox file, sorted; files whose name is
// not a valid member name are left out. A missing directory has none.
func (d Dir) Names() ([]protocol.MemberName, error) {
	files, err := os.ReadDir(d.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("mailbox: %w", err)
	}
	var names []protocol.MemberName
	for _, f := range files {
		stem, ok := strings.CutSuffix(f.Name(), d.Layout.Extension())
		if !ok || !f.Type().IsRegular() {
			continue
		}
		if name, err := protocol.ParseMember(stem); err == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names) // by file name, "a-b.json" comes before "a.json"
	return names, nil
}
