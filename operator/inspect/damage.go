package inspect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/leader"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/team"
)

// shownFor is how long status shows a repair of a team's files.
const shownFor = 24 * time.Hour

// damage returns the errors of a team's files in the wire tree, and what was set aside or repaired
// there in the last day. It only reads.
func (o Operator) damage(ctx context.Context, s *operator.State) (what []string) {
	path := o.Root.ConfigPath(s.Team)
	cfg, err := o.Listing(ctx, s.Team)
	switch {
	case err == nil:
		what = unnamed(cfg)
	case ctx.Err() == nil && !o.Homeless(s.Team):
		what = append(what, fmt.Sprintf("%s cannot be used (%v): the members are those on record", path, err))
	}
	what = append(what, o.blocked(s)...)
	since := o.Minter.Now().Add(-shownFor)
	entries, _ := os.ReadDir(s.Dir.Quarantine())
	for _, e := range entries {
		if info, err := e.Info(); err == nil && o.recent(e.Name(), since) {
			what = append(what, fmt.Sprintf("set aside: %s (%s)", filepath.Join(s.Dir.Quarantine(), e.Name()), kindOf(info)))
		}
	}
	for _, odd := range o.Oddities(s.Team, s) {
		if odd.At.IsZero() || odd.At.After(since) {
			what = append(what, odd.String())
		}
	}
	for i := len(s.Lead.Unverified) - 1; i >= 0; i-- {
		if u := s.Lead.Unverified[i]; u.Box == leader.RegistryBox && u.Time.After(since) {
			what = append(what, "config.json was changed by somebody else: "+u.Why)
			break // the rest is in the log
		}
	}
	return what
}

// unnamed lists what is wrong with a registry: a member whose name is none is not shown.
func unnamed(cfg *team.Config) (what []string) {
	for _, p := range cfg.Problems() {
		what = append(what, "config.json: "+p)
	}
	return what
}

// recent reports a name that ends with a time after since.
func (o Operator) recent(name string, since time.Time) bool {
	if len(name) < len(mail.StampForm) {
		return false
	}
	at := strings.LastIndex(name, "-")
	for ; at >= 0; at = strings.LastIndex(name[:at], "-") {
		if rest := name[at+1:]; mail.IsStamp(rest) {
			t, err := time.Parse(mail.StampForm, rest[:len(mail.StampForm)])
			return err == nil && t.After(since)
		}
	}
	return false
}

// blocked names mailboxes in whose place another kind of file lies.
func (o Operator) blocked(s *operator.State) (what []string) {
	mail := o.Boxes(s.Team)
	names := []protocol.MemberName{protocol.Lead}
	for _, m := range s.Lead.Live() {
		names = append(names, m.Name)
	}
	for i, dir := range mail.Dirs() {
		info, err := os.Stat(dir)
		if err != nil {
			continue
		}
		if !info.IsDir() {
			what = append(what, fmt.Sprintf("%s is %s: mail waits on record", dir, kindOf(info)))
			continue
		}
		for _, n := range names {
			path := filepath.Join(dir, string(n)+[]string{".json", ".jsonl"}[i])
			if info, err := os.Lstat(path); err == nil && (!info.Mode().IsRegular() || info.Size() > atomicfile.DefaultMaxSize) {
				what = append(what, fmt.Sprintf("%s is %s: mail waits on record", path, kindOf(info)))
			}
		}
	}
	return what
}

// kindOf describes the kind of a file in words.
func kindOf(info os.FileInfo) string {
	if info.Mode().IsRegular() {
		return fmt.Sprintf("a file of %d bytes", info.Size())
	}
	return atomicfile.KindOf(info.Mode())
}
