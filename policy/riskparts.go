package policy

import (
	"slices"

	"waggle/internal/cmdline"
)

// RiskPart is a part of a shell text that has the risk of the whole text, or the whole call where
// From and To are 0.
type RiskPart struct {
	From, To int // bytes of the text
	Why      string
}

// RiskParts returns what makes a call one of high risk, and why: the commands of its shell text that
// alone are of high risk, in their order, or else the whole text. Other calls have one part. A call
// of less risk has none. Like RiskOf it is for people, and never a permission.
func RiskParts(c Call) []RiskPart {
	if RiskOf(c) != RiskHigh {
		return nil
	}
	q, err := newQuestion(c)
	switch {
	case err != nil:
		return []RiskPart{{Why: err.Error()}}
	case c.Tool != "Bash":
		return []RiskPart{{Why: q.areaWhy()}}
	case !q.hasText:
		return []RiskPart{{Why: "it has no command"}}
	}
	parts := q.riskyParts()
	if len(parts) == 0 {
		parts = []RiskPart{{0, len(q.text), "what it is given is not known, or sets what runs"}}
	}
	return parts
}

// areaWhy says why a call of a tool other than Bash is of high risk.
func (q *question) areaWhy() string {
	switch q.area {
	case AreaReadInside, AreaReadOutside:
		return "it reads credentials"
	case AreaEditGuarded:
		return "other programs run what is in this file, or take their settings from it"
	case AreaEditOutside:
		return "the file is outside of the working directory"
	}
	if q.host != "" || q.url != "" {
		return "it uses the network"
	}
	return "what this tool does is not known"
}

// riskyParts are the innermost parts of the text that alone are of high risk.
func (q *question) riskyParts() (parts []RiskPart) {
	for _, g := range q.grades() {
		if g.risk == RiskHigh && !slices.ContainsFunc(parts, func(p RiskPart) bool { return p.From == g.From && p.To == g.To }) {
			parts = append(parts, g.RiskPart)
		}
	}
	return slices.DeleteFunc(slices.Clone(parts), func(p RiskPart) bool {
		return slices.ContainsFunc(parts, func(in RiskPart) bool { return in != p && in.From >= p.From && in.To <= p.To })
	})
}

func wordText(w cmdline.Word) string {
	if w.Sure != cmdline.Literal || w.Text == "" {
		return "a name that is not known before it runs"
	}
	return w.Text
}

// commandWhys are what commands do that are not in the table of known ones.
var commandWhys = map[string]string{
	"rm": "it deletes files", "rmdir": "it deletes files", "unlink": "it deletes files", "shred": "it deletes files", "truncate": "it deletes what files hold",
	"curl": "it uses the network", "wget": "it uses the network", "ssh": "it uses the network", "scp": "it uses the network", "rsync": "it uses the network",
	"nc": "it uses the network", "telnet": "it uses the network", "ftp": "it uses the network",
	"sudo": "it runs with other rights", "su": "it runs with other rights", "doas": "it runs with other rights",
	"kill": "it ends processes", "pkill": "it ends processes", "killall": "it ends processes",
	"chmod": "it changes who may use files", "chown": "it changes who may use files",
	"sh": "it runs a text that it reads", "bash": "it runs a text that it reads", "zsh": "it runs a text that it reads", "eval": "it runs a text",
}

// commandWhy says why a simple command is of high risk.
func (q *question) commandWhy(c []cmdline.Word) string {
	name := cmdline.BaseName(c[0].Text)
	why, known := commandWhys[name]
	fit, listed := cmdline.LookUp(c)
	switch {
	case cmdline.NamesCredential(c):
		return "it names credentials"
	case c[0].Sure == cmdline.Unknown:
		return "which program it runs is not known before it runs"
	case known:
		return why
	case listed:
		for _, w := range slices.Concat(fit.Outs, fit.Operands) {
			if t := q.resolve(w.Text); w.Sure == cmdline.Literal && t.doubt != "" {
				return "where " + w.Text + " leads is not known: " + t.doubt
			}
		}
		return "it changes files outside of the working directory"
	}
	return "what " + name + " does with these words is not known"
}
