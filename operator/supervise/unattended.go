package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"waggle/agent"
	"waggle/internal/json/jsonobj"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/teamfile"
	"waggle/policy"
	"waggle/record"
	"waggle/worker"
)

// anyCommand stands for the shell calls of an agent whose commands are not known before.
const anyCommand = "waggle-stands-for-any-command"

// checkHeadless refuses a run without a person that cannot get its sandboxes, before anything starts. The machine is
// probed at most once. unattended: nobody answers either.
func (o Operator) checkHeadless(ctx context.Context, f *teamfile.File, unattended bool) error {
	probe := sync.OnceValues(func() (*record.Held, error) { return o.probe(ctx) })
	err := checkRequired(f, probe)
	if err == nil && unattended && f.Policy.Sandboxed {
		err = o.checkUnattended(f, probe)
	}
	return err
}

// checkRequired refuses members that require a sandbox where none can be had: no rule and no answer lets them start.
func checkRequired(f *teamfile.File, probe func() (*record.Held, error)) error {
	var names []string
	for _, m := range f.Everyone() {
		if m.Sandbox.Trust() == record.Enforced {
			names = append(names, string(m.Name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	held, err := probe()
	if err != nil || held.Enforces() {
		return err
	}
	return &operator.Error{Kind: operator.Refused, Op: "run", Msg: fmt.Sprintf("the team file requires a sandbox for %s, and none can be had here: it is %q and must be %q: %s",
		strings.Join(names, ", "), held.Level, record.HeldEnforced, held.Why), Advice: held.Fix, Next: operator.NextDoctor.With()}
}

// checkUnattended refuses a run that nobody attends when shell calls of it would be allowed by sandboxed: allow alone and
// their members have no enforced sandbox: each would be asked, and so denied. The error names the rules that are
// missing. Of exec and script members the calls are known; one that makes no shell call needs no sandbox.
func (o Operator) checkUnattended(f *teamfile.File, probe func() (*record.Held, error)) error {
	set := record.PolicySet{Policy: f.Policy, Sandboxed: f.Policy.Sandboxed, Ceiling: decide.Of(o.Operator).CeilingOf(nil)}
	var names, rules []string
	var why, fix string
	for _, m := range f.Everyone() {
		needs := unsandboxed(set.For("", o.Minter.Now()), set.Ceiling.Meet(cmp.Or(m.Mode, f.Policy.Mode)), f, m)
		if len(needs) == 0 || m == f.Lead && f.LeadPolicy != nil {
			continue
		}
		held := record.Held{Level: record.HeldOff, Why: "the team file has no sandbox block for it", Fix: "sandbox: {mode: auto} in the team file"}
		switch {
		case m.Sandbox != nil && m.Sandbox.Mode == record.SandboxOff:
			held.Why, held.Fix = "its sandbox has mode: off", "mode: auto"
		case m.Sandbox.Asked():
			probed, err := probe()
			if err != nil {
				return err
			}
			held = *probed
		}
		if held.Enforces() {
			continue
		}
		names = append(names, string(m.Name))
		why, fix = cmp.Or(why, held.Why, "the sandbox is "+string(held.Level)), cmp.Or(fix, held.Fix)
		for _, r := range needs {
			if !slices.Contains(rules, r) {
				rules = append(rules, r)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	list, err := jsonobj.Marshal(rules)
	if err != nil {
		return err
	}
	if fix != "" {
		fix = "; or make the sandbox available: " + fix
	}
	return &operator.Error{Kind: operator.Usage, Op: "run", Msg: fmt.Sprintf("nothing allows shell calls of %s here, and nobody is asked: sandboxed: allow needs an enforced sandbox, and %s", strings.Join(names, ", "), why),
		Advice: "write these rules into policy: allow: " + string(list) + fix}
}

// unsandboxed are the allow rules that a member lacks for the shell calls that only its sandbox would allow.
func unsandboxed(p policy.Policy, mode policy.Mode, f *teamfile.File, m *teamfile.FileMember) (rules []string) {
	p.Mode = mode
	texts, known := agent.ShellTexts(m.Agent, m.Spec)
	switch {
	case m.Agent == "exec" && agent.CommandOf(m.Agent, m.Spec) == "":
		for _, t := range f.Tasks {
			if t.Owner == m.Name || t.Owner == "" {
				texts = append(texts, strings.TrimSpace(t.Instructions))
			}
		}
	case !known:
		texts = []string{anyCommand}
	}
	for _, text := range texts {
		input, err := jsonobj.Marshal(map[string]string{"command": text})
		if err != nil {
			continue
		}
		c := policy.Call{Tool: "Bash", Input: input, Cwd: m.Cwd, Sandboxed: true}
		if p.Judge(c).Rule != policy.RuleSandboxed {
			continue // allowed or denied all the same, or asked inside too
		}
		rule := "Bash(" + text + ")"
		c.Sandboxed = false
		if could := p.Suggest(c); len(could) > 0 {
			rule = could[0].String()
		}
		rules = append(rules, strings.ReplaceAll(rule, anyCommand, "COMMAND:*"))
	}
	return rules
}

// probe is what a sandbox with mode auto holds on this machine, by its self-test in an empty directory.
func (o Operator) probe(ctx context.Context) (held *record.Held, err error) {
	if o.Confine == nil {
		return &record.Held{Level: record.HeldOff, Why: "this program starts no sandbox"}, nil
	}
	if err := os.MkdirAll(o.Home.Run(), 0o700); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(o.Home.Run(), "box-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o700); err != nil {
		return nil, err
	}
	box, err := o.Confine(ctx, worker.Confining{Want: record.Sandbox{Mode: record.SandboxAuto}, Tree: tree, Own: filepath.Join(dir, "own"), Dir: filepath.Join(dir, "kit"),
		Environ: o.Environ, Now: o.Minter.Now, Connected: func(record.Connection) {},
		Ask: func(context.Context, string, string) (agent.Decision, error) { return agent.Decision{}, nil }})
	if err != nil {
		return nil, err
	}
	found := box.Held()
	return &found, box.Close()
}
