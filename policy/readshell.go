package policy

import (
	"fmt"
	"path"
	"strings"
)

// OnlyReads reports whether a call is a shell text that only reads: plain commands
// of RiskLow that print files or the state of the repository, with literal words
// and wildcards, joined by && || ; | or newline; echo and its kin may stand between
// them. ModePlan allows it where it allows
// Read and Grep of every path that the text names.
func OnlyReads(c Call) bool {
	q, err := newQuestion(c)
	if err != nil {
		return false
	}
	_, ok := q.reads()
	return ok
}

// fetchers are commands of RiskLow that do more than read: they may fetch what is
// missing, open a pager, ask a daemon or start a project's tool.
var fetchers = names(`go npm pnpm yarn bun npx cargo docker gradle mvn dotnet poetry uv pytest make tsc gh kubectl terraform helm
	less more bat top clear tput deno pip pip3 psql`)

// searchers show files that their words need not name.
var searchers = names(`git rg ag`)

// reads returns the paths that a text reads, when it does nothing else.
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
func (j *shellJudge) read(words []word) error {
	f, ok := lookUp(words)
	name := baseName(words[0].text)
	if !ok || f.carrier || f.risk != RiskLow || fetchers[name] {
		return fmt.Errorf("%q may do more than read", clip(words[0].text))
	}
	j.looked = j.looked || !talkers[name]
	if searchers[name] || hasAny(words[1:], "-r", "-R") {
		j.paths = append(j.paths, path.Join(j.cwd, j.dir))
	}
	for _, w := range words[1:] {
		p := w.text
		if len(p) > 1 && p[0] == '-' {
			_, value, joined := strings.Cut(p, "=")
			if p = value; !joined {
				continue
			}
		}
		if !path.IsAbs(p) {
			p = path.Join(j.cwd, j.dir, p)
		}
		j.paths = append(j.paths, p)
	}
	return nil
}

// judgeReads is what a mode says of reading paths: the strictest answer to Read
// and to Grep of each.
func (p Policy) judgeReads(q *question, paths []string) Verdict {
	v := Verdict{Allow, "mode " + string(p.Mode), fmt.Sprintf("Mode %s allows what only reads in the working directory.", p.Mode)}
	for _, file := range paths {
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
