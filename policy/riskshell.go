package policy

import (
	"path"
	"slices"
	"strings"

	"waggle/internal/cmdline"
)

// grade is the risk of a part of a shell text, and why it is not less.
type grade struct {
	RiskPart
	risk Risk
}

// grades are the risks of the commands of the text, and of what it does beside them.
func (q *question) grades() (all []grade) {
	whole := RiskPart{To: len(q.text)}
	r := q.reading()
	switch {
	case !q.hasText:
		whole.Why = "it has no command"
	case q.doubt != "":
		whole.Why = q.doubt
	case r.Unparsed:
		whole.Why = "it cannot be parsed"
	}
	if whole.Why != "" {
		return []grade{{whole, RiskHigh}}
	}
	all = q.gradeReading(r, nil)
	if slices.ContainsFunc(r.Commands, leaves) && slices.ContainsFunc(all, func(g grade) bool { return g.risk == RiskMedium }) {
		whole.Why = "the directory changes between its commands"
		all = append(all, grade{whole, RiskHigh}) // the file or program is elsewhere
	}
	return all
}

// gradeReading grades the parts of a reading; those of a text inside another one have the place of the command that runs
// it.
func (q *question) gradeReading(r cmdline.Reading, in *RiskPart) (all []grade) {
	add := func(from, to int, risk Risk, why string) {
		part := RiskPart{from, to, why}
		if in == nil {
			part.To = from + len(strings.TrimRight(q.text[from:max(from, min(to, len(q.text)))], "; \t\n&"))
		} else {
			part.From, part.To = in.From, in.To
		}
		all = append(all, grade{part, risk})
	}
	for _, s := range r.Secrets {
		add(s[0], s[1], RiskHigh, "it reads credentials")
	}
	for _, c := range r.Commands {
		risk, why := q.gradeCommand(c)
		add(c.From, c.To, risk, why)
		if c.Inner != nil {
			at := RiskPart{From: c.From, To: c.To}
			if in != nil {
				at = *in
			}
			all = append(all, q.gradeReading(*c.Inner, &at)...)
		}
	}
	for _, u := range r.Unclear {
		within := slices.ContainsFunc(all, func(g grade) bool { return g.risk == RiskHigh && in == nil && g.From <= u.From && u.To <= g.To })
		if !within && (!u.Listed || u.Variable) {
			why := u.Why
			if strings.HasPrefix(why, "a ") || strings.HasPrefix(why, "an ") {
				why = "it has " + why
			}
			add(u.From, u.To, RiskHigh, why)
		}
	}
	return all
}

// gradeCommand grades a command without those inside it.
func (q *question) gradeCommand(c cmdline.Command) (risk Risk, why string) {
	risk = RiskLow
	worsen := func(to Risk, because string) {
		if risk != RiskHigh && worse(risk, to) != risk {
			risk, why = to, because
		}
	}
	if slices.ContainsFunc(c.Reads, func(w cmdline.Word) bool { return cmdline.CredentialPath(w.Text) }) {
		worsen(RiskHigh, "it reads credentials")
	}
	for _, w := range c.Writes {
		worsen(q.writeRisk(w, c.Dirs), "it writes to "+wordText(w))
	}
	for _, w := range c.Assigns {
		worsen(Risk(cmdline.AssignmentRisk(w)), "it sets "+wordText(w))
	}
	words := c.Words
	if c.Inner != nil {
		words = c.Rest
	}
	if len(words) > 0 && !c.Followed {
		worsen(q.commandRisk(words, c.Dirs), q.commandWhy(words))
	}
	fit, _ := cmdline.LookUp(words)
	prints := len(words) > 0 && countsOnly[words[0].Text]
	for _, w := range words {
		switch {
		case w.Pattern && !fit.Any && (w.Split || strings.Contains(w.Text, "{")):
			worsen(RiskHigh, "a word of it may become several, and options")
		case w.Pattern && !prints && mayBeCredential(w.Text):
			worsen(RiskHigh, "it may read credentials")
		case !w.Known() || w.Output:
			worsen(RiskMedium, "it has a word that is not known before it runs")
		}
	}
	if e := cmdline.EffectOf(words); e.Speaks && !e.Only && c.Inner == nil {
		worsen(RiskHigh, "a shell may evaluate a word of it")
	}
	return risk, why
}

// installers are programs that install packages into the directory, with the subcommands that do.
var installers = map[string][]string{
	"npm": {"install", "ci", "i"}, "pnpm": {"install", "i"}, "yarn": {"install"}, "bun": {"install", "i"},
	"bundle": {"install"}, "composer": {"install"}, "uv": {"sync"}, "poetry": {"install"},
}

// packageName matches a package of a registry, with or without a version.
var packageName = cmdline.Pattern(`^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9_-]*(\.(js|io))?(@[~^]?[a-z0-9][a-z0-9.-]*)?$`)

// remade reports a command that removes what lies below the directory, or installs packages there, and nothing else: in a
// tree of the member's own that can be made again.
func (q *question) remade(c []cmdline.Word, dirs []string) bool {
	name := c[0].Text
	if subs, ok := installers[name]; ok {
		return len(c) > 1 && slices.Contains(subs, c[1].Text) && !slices.ContainsFunc(c[2:], func(w cmdline.Word) bool {
			return w.Sure != cmdline.Literal || !packageName().MatchString(w.Text) && !cmdline.HasAny([]cmdline.Word{w}, "-D", "--save-dev", "--frozen-lockfile", "--prefer-offline", "--no-audit", "--no-fund", "--silent")
		})
	}
	removed := cmdline.EffectOf(c).Writes
	return (name == "rm" || name == "rmdir" || name == "unlink") && len(removed) > 0 && !slices.ContainsFunc(removed, func(w cmdline.Word) bool {
		t := q.resolve(w.Text)
		return w.Sure != cmdline.Literal || t.abs == path.Clean(q.call.Cwd) || len(dirs) > 1 || beginsGuarded(w.Text) || q.argRisk(w, dirs) == RiskHigh
	})
}

// commandRisk grades one simple command: what cmdline.LookUp says of it with these options, and RiskHigh for everything
// that the table does not list. Files that it writes outside the working directory, credentials that it names, and
// variables that it sets are high.
func (q *question) commandRisk(c []cmdline.Word, dirs []string) Risk {
	if cmdline.NamesCredential(c) {
		return RiskHigh
	}
	switch c[0].Text {
	case "export", "declare", "typeset", "local", "readonly":
		return Risk(cmdline.DeclareRisk(c[1:]))
	}
	f, ok := cmdline.LookUp(c)
	if q.call.OwnTree && q.remade(c, dirs) {
		return RiskMedium
	}
	if runs := cmdline.BaseName(c[0].Text); !ok || f.Inner > 0 || f.Carrier && (runs == "find" || runs == "fd" || runs == "fdfind" || runs == "command") {
		return RiskHigh
	}
	risk := Risk(f.Risk)
	for _, w := range f.Outs {
		risk = worse(risk, q.writeRisk(w, dirs))
	}
	if f.Risk == cmdline.RiskMedium && !f.Write { // a program, or a directory, elsewhere
		for _, w := range cmdline.WithoutProse(c)[1:] {
			if _, value, joined := strings.Cut(w.Text, "="); joined && strings.HasPrefix(w.Text, "-") {
				w.Text = value
			}
			if w.Sure == cmdline.Literal && (strings.HasPrefix(w.Text, "/") || strings.HasPrefix(w.Text, "..")) {
				risk = worse(risk, q.argRisk(w, dirs))
			}
		}
	}
	if f.Write {
		for _, w := range f.Operands {
			risk = worse(risk, q.argRisk(w, dirs))
		}
	}
	return risk
}
