package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"waggle/internal/cmdline"
)

// OnlyReads reports whether a call is a shell text that only reads: plain commands of RiskLow that
// print files or the state of the repository, with literal words and wildcards, joined by && || ; |
// or newline; echo and similar commands may be among them. ModePlan allows it where it allows Read
// and Grep of every path that the text names.
func OnlyReads(c Call) bool {
	q, err := newQuestion(c)
	if err != nil {
		return false
	}
	_, ok := q.reads()
	return ok
}

// searchers print files that are not among their arguments.
var searchers = cmdline.Names(`git rg ag`)

// reads returns the paths that a text reads, when it has no other effect.
func (q *question) reads() (paths []string, ok bool) {
	if !q.hasText || q.doubt != "" || q.shellRisk() != RiskLow {
		return nil, false
	}
	j := &shellJudge{cwd: q.call.Cwd, leads: q.leadsBelow, reading: true}
	if j.script(q.text, 0) != nil || !j.looked {
		return nil, false
	}
	return j.paths, true
}

// read accepts a command that only reads and keeps the paths that it names.
func (j *shellJudge) read(words []cmdline.Word) error {
	f, ok := cmdline.LookUp(words)
	name := cmdline.BaseName(words[0].Text)
	if !ok || f.Carrier || f.Risk != cmdline.RiskLow || cmdline.Fetchers[name] {
		return fmt.Errorf("%q may do more than read", clip(words[0].Text))
	}
	j.looked = j.looked || !cmdline.Talkers[name]
	if searchers[name] || cmdline.HasAny(words[1:], "-r", "-R") {
		j.names(".")
	}
	named, options := words[1:], true
	if f.Paths != nil {
		named, options = f.Paths, false
	}
	for _, w := range named {
		p := w.Text
		switch {
		case responds[name] && strings.HasPrefix(p, "@"):
			return fmt.Errorf("%q reads its words from a file", clip(p))
		case p == "--":
			options = false
		case options && strings.HasPrefix(p, "--"):
			if _, value, joined := strings.Cut(p, "="); joined {
				j.names(value)
			}
		case options && len(p) > 1 && p[0] == '-':
			if len(p) > maxOption {
				return fmt.Errorf("%q may name a file", clip(p))
			}
			for i := 2; i < len(p); i++ { // the value of a letter may follow it
				j.names(strings.TrimPrefix(p[i:], "="))
			}
		default:
			j.names(p)
		}
	}
	return nil
}

// responds are the commands that replace @FILE with the words in it.
var responds = cmdline.Names(`strings nm size readelf`)

// maxOption is the length of an option with letters.
const maxOption = 32

// names keeps a path as it is written: what a link leads to is not known from the text. A cd before may have failed,
// or have been another shell's, so it counts in each directory that the text has been in.
func (j *shellJudge) names(p string) {
	if path.IsAbs(p) {
		j.paths = append(j.paths, p)
		return
	}
	for _, dir := range append([]string{""}, j.dirs...) {
		j.paths = append(j.paths, path.Join(j.cwd, dir)+"/"+p)
	}
}

// judgeReads is what a mode says of reading paths: the strictest answer to Read
// and to Grep of each.
func (p Policy) judgeReads(q *question, paths []string) Verdict {
	v := Verdict{Allow, "mode " + string(p.Mode), fmt.Sprintf("Mode %s allows commands that only read in the working directory.", p.Mode)}
	for _, file := range paths {
		if v.Decision == Allow && climbs(file) {
			v = Verdict{Ask, "mode " + string(p.Mode), fmt.Sprintf("Where %q leads is not known from the text.", clip(file))}
		}
		dir := file
		if i := strings.IndexAny(file, "*?["); i >= 0 {
			dir = path.Dir(file[:i] + "x")
		}
		for _, c := range []struct {
			tool string
			in   map[string]string
		}{{"Read", map[string]string{"file_path": file}}, {"Grep", map[string]string{"path": dir, "output_mode": "content"}}} {
			raw, err := marshal(c.in)
			if err != nil {
				return Verdict{Deny, "input", sentence(err.Error())}
			}
			if w := p.Judge(Call{Tool: c.tool, Input: raw, Cwd: q.call.Cwd, Links: q.call.Links, Home: q.call.Home, Guarded: q.call.Guarded}); w.Decision.rank() < v.Decision.rank() {
				v = w
			}
		}
	}
	return v
}

// climbs reports a path with a part ".." or one that begins with "~", in whose place a shell or a program may put a
// home directory, and a wildcard whose matches may be links that the path goes on through.
func climbs(file string) bool {
	if i := strings.IndexAny(file, "*?["); i >= 0 && strings.Contains(file[i:], "/") {
		return true
	}
	return slices.ContainsFunc(strings.FieldsFunc(file, func(r rune) bool { return strings.ContainsRune("/:,", r) }), func(part string) bool {
		return part == ".." || part[0] == '~'
	})
}
