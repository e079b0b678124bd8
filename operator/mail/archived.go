package mail

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waggle/boxes"
	"waggle/home"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/protocol"
	"waggle/team"
)

// afterwards is Inbox for a team that waggle leads and whose directory is gone: it reads the
// archive.
func (o Operator) afterwards(ctx context.Context, name protocol.TeamName, member protocol.MemberName, missing error) (*Inbox, error) {
	_, err := o.Open(ctx, name, operator.Act)
	if operator.Unled(err) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	in, err := o.Archived(ctx, name, member, false)
	if err != nil {
		return nil, err
	}
	in.Gone = true
	in.Reports = append(in.Reports, fmt.Sprintf("%s is gone: this is what is kept of the mail of %s", o.Root.TeamDir(name), member))
	return in, nil
}

// Archived reads the archived mail of a member, oldest first: entries that were read long ago, mail
// of an earlier member of the name, mail of a directory that vanished or was archived with its
// team. unread leaves out read entries. A team without a STATE has none.
func (o Operator) Archived(ctx context.Context, name protocol.TeamName, member protocol.MemberName, unread bool) (*Inbox, error) {
	dirs, err := o.archives(name)
	if len(dirs) == 0 {
		if err != nil {
			return nil, err
		}
		if _, err := team.Open(o.Root, name, team.Options{}); err != nil {
			return nil, err
		}
	}
	in := &Inbox{Team: string(name), Member: string(member), Entries: []InboxEntry{}}
	for _, d := range dirs {
		files, err := archivedFiles(d.Archive(), string(member))
		if err != nil {
			return nil, err
		}
		seen := map[mailbox.ID]bool{} // copies of the mailbox: several processes may have made one
		for _, f := range files {
			list, err := mailbox.ReadArchived(f.path)
			if err != nil {
				in.Reports = append(in.Reports, err.Error())
			}
			for _, e := range list {
				if unread && e.Err == nil && e.Envelope.Read {
					continue
				}
				if f.copy && seen[e.ID] {
					continue
				}
				seen[e.ID] = f.copy
				ie := EntryOf(e)
				ie.Index, ie.Archive = len(in.Entries), f.path
				in.Entries = append(in.Entries, ie)
			}
		}
	}
	t, err := o.traces(ctx, name)
	if err != nil {
		in.Reports = append(in.Reports, err.Error())
	}
	o.relate(t, in)
	return in, nil
}

// archives returns the directories in STATE of the teams of a name: first those that waggle led,
// then those of other programs in which the operator acted.
func (o Operator) archives(name protocol.TeamName) ([]home.Dir, error) {
	dirs, err := o.Home.Find(o.RootURL, name)
	foreign, ferr := o.Home.Foreign()
	for _, k := range foreign {
		if k.Root == o.RootURL && k.Team == name {
			dirs = append(dirs, k.Dir)
		}
	}
	return dirs, errors.Join(err, ferr)
}

// archived is a file of mail in the archive.
type archived struct {
	when, path string
	copy       bool // a copy of a whole mailbox, whose entries another copy may have too
}

// archivedFiles finds the files of one member's mail in an archive, oldest first.
func archivedFiles(archive, member string) ([]archived, error) {
	entries, err := os.ReadDir(archive)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	files, err := movedAway(boxes.MailDir(archive, protocol.MemberName(member)))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() {
			if when, ok := strings.CutPrefix(e.Name(), member+"-"); ok && IsStamp(when) && isMail(when) {
				files = append(files, archived{when, filepath.Join(archive, e.Name()), false})
			}
			continue
		}
		when := e.Name()
		for _, what := range []string{boxes.Vanished, boxes.Replaced} {
			when = strings.TrimPrefix(when, what+"-")
		}
		if !IsStamp(when) {
			continue
		}
		for _, in := range []string{".", "team/inboxes", "team/mailbox"} {
			file, ok := mailIn(filepath.Join(archive, e.Name(), filepath.FromSlash(in)), member)
			if ok {
				files = append(files, archived{when, file, true})
				break // the others hold the same mail
			}
		}
	}
	slices.SortStableFunc(files, func(a, b archived) int { return strings.Compare(a.when, b.when) })
	return files, nil
}

// movedAway lists the files of entries that were moved out of a full mailbox.
func movedAway(dir string) ([]archived, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("archive: %w", err)
	}
	var files []archived
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && isMail(e.Name()) && !strings.HasPrefix(e.Name(), ".") {
			files = append(files, archived{when: info.ModTime().UTC().Format(StampForm), path: filepath.Join(dir, e.Name())})
		}
	}
	return files, nil
}

// mailIn finds a member's mailbox in a directory.
func mailIn(dir, member string) (string, bool) {
	for _, as := range []mailbox.Layout{mailbox.Array, mailbox.JSONL} {
		path := filepath.Join(dir, member+as.Extension())
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			return path, true
		}
	}
	return "", false
}

func isMail(file string) bool {
	return strings.HasSuffix(file, mailbox.Array.Extension()) || strings.HasSuffix(file, mailbox.JSONL.Extension())
}

const StampForm = "20060102T150405.000Z"

// IsStamp reports whether a name begins with a time in the archive's format. A member's name
// contains no dot, so it is never mistaken for one.
func IsStamp(s string) bool {
	return len(s) >= len(StampForm) && s[8] == 'T' && s[15] == '.' && s[19] == 'Z' && strings.Trim(s[:8]+s[9:15]+s[16:19], "0123456789") == ""
}
