package fileview

import (
	"fmt"
	"strings"

	"waggle/operator"
	"waggle/operator/fresh"
	"waggle/record"
)

// preparation says what worktrees get, and what runs in them. included are the files that
// .worktreeinclude names.
func (m *meaning) preparation(indent string, included []string, p *record.Preparation) {
	m.each(indent+"copied", "%s, named in .worktreeinclude", included)
	if p == nil {
		return
	}
	m.each(indent+"copied", "%s, which git ignores", p.Copy)
	m.each(indent+"linked", "%s, which git ignores", p.Link)
	for _, text := range p.Setup {
		m.text(indent+"setup runs as you", text)
	}
}

// PreparationText shows what the worktrees of new members get by a team file that was only found,
// before a question about it.
func PreparationText(f fresh.Found) string {
	what := fmt.Sprintf("found %s (sha256 %.16s).", operator.Visible(f.File.Path), f.File.SHA256)
	if f.Changed {
		what = fmt.Sprintf("%s has changed since you accepted it (sha256 %.16s).", operator.Visible(f.File.Path), f.File.SHA256)
	}
	var m meaning
	m.preparation("", f.Included, f.File.Prepare)
	if f.File.Check != nil {
		m.text("check before it is done, and merged", f.File.Check.Command)
	}
	return what + " A new member gets:\n\n" + strings.Join(m.lines, "\n")
}
