package policy

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"

	"waggle/internal/cmdline"
)

// The supplies of a command beside its words: its standard input, and what is added to its
// environment. A text that a shell reads is judged as a shell text. For an input that another
// program reads, only a rule for this very command is enough, and for one that an interpreter reads
// as code not even that.

// readSupplied reads the supplies of the call. It is an error when the input and the call supply
// different ones.
func (q *question) readSupplied(fields map[string]json.RawMessage) error {
	q.stdin = q.call.Stdin
	text, present, ok := stringField(fields, "stdin")
	switch {
	case present && !ok:
		return errors.New(`the "stdin" of the input is not a text`)
	case present && q.call.Stdin != "" && text != q.call.Stdin:
		return errors.New(`the "stdin" of the input differs from the standard input of the call`)
	case present:
		q.stdin = text
	}
	return nil
}

// reader says what becomes of what a command reads.
type reader int

const (
	inputIsData  reader = iota // it is data, as far as is known
	inputIsCode                // an interpreter, or a program that takes its arguments from its input
	inputIsShell               // a shell
)

// readerOf is what a script does with its standard input: every command in it may be
// the one that reads.
func readerOf(s *cmdline.Carried) reader {
	switch {
	case slices.ContainsFunc(s.Commands, func(c []cmdline.Word) bool { return len(c) > 0 && cmdline.ReadsAsCode(c) }):
		return inputIsCode
	case s.Stdin:
		return inputIsShell
	case s.Opaque:
		return inputIsCode
	}
	return inputIsData
}

// typed is everything that the standard input may run where a shell reads it; nil where none does.
func (q *question) typed() *cmdline.Carried {
	if q.stdin == "" || readerOf(q.carries()) != inputIsShell {
		return nil
	}
	return cmdline.Carry(q.readAlone(q.stdin), q.readAlone)
}

// supplied says why rules that cover a shell text do not cover what it is given.
func (v *coverage) supplied() gap {
	for _, m := range v.rules {
		if m.rule.Pattern == "" {
			return gap{} // allows every command, whatever its input is
		}
	}
	if name := v.q.unusualEnv(); name != "" {
		return because("it is run with %s set", clip(name))
	}
	if v.q.stdin == "" {
		return gap{}
	}
	switch readerOf(v.q.carries()) {
	case inputIsShell:
		if readerOf(v.q.typed()) != inputIsData {
			return because("what the shell reads on its standard input reads the rest of it as code")
		}
		input := &question{call: v.q.call, place: v.q.place, area: v.q.area, text: v.q.stdin, hasText: true}
		inner := input.cover(v.mode, v.paths, v.deny)
		if !inner.none() {
			inner.why = "what the shell reads on its standard input: " + inner.why
		}
		return inner.gap
	case inputIsCode:
		return because("it takes instructions from its standard input")
	}
	if v.widely {
		return because("it reads a text, and the rule that allows it is not for this very command")
	}
	return gap{}
}

// unusualEnv is a variable of the call that only a person or a rule for everything allows, "" when there is none.
func (q *question) unusualEnv() string {
	for _, kv := range q.call.Env {
		if name, grade := envRisk(kv); grade != RiskLow {
			return name
		}
	}
	return ""
}

// deniedSupplied looks for the command of a deny rule in a command's standard input.
func (q *question) deniedSupplied(r cmdline.ShellRule) cmdline.Match {
	if typed := q.typed(); typed != nil {
		return r.Denies(typed, q.call.Cwd)
	}
	want := r.Words
	if len(want) == 0 {
		want = strings.Fields(r.Text)
	}
	if len(want) == 0 {
		return cmdline.No
	}
	for _, w := range strings.FieldsFunc(q.stdin, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_-+./", c)
	}) {
		if cmdline.BaseName(w) == cmdline.BaseName(want[0]) {
			return cmdline.Maybe // the program that reads it may have other effects
		}
	}
	return cmdline.No
}

// suppliedRisk grades what a command is given.
func (q *question) suppliedRisk() Risk {
	risk := RiskLow
	for _, kv := range q.call.Env {
		_, grade := envRisk(kv)
		risk = worse(risk, grade)
	}
	if q.stdin == "" {
		return risk
	}
	if _, bad := cmdline.Invisible(q.stdin, "\n\t"); bad {
		return RiskHigh
	}
	s := q.carries()
	switch readerOf(s) {
	case inputIsShell:
		other := question{call: Call{Tool: q.call.Tool, Cwd: q.call.Cwd}, text: q.stdin, hasText: true}
		return worse(risk, other.shellRisk())
	case inputIsCode:
		if onlyArguments(s) {
			return worse(risk, q.argumentsRisk())
		}
		return RiskHigh
	}
	return risk
}

// onlyArguments reports a script in which one command reads the input, as arguments and not as
// instructions.
func onlyArguments(s *cmdline.Carried) bool {
	for _, c := range s.Commands {
		if len(c) > 0 && cmdline.ReadsAsCode(c) && !cmdline.Wrappers[cmdline.BaseName(c[0].Text)].Stdin {
			return false
		}
	}
	return !s.Stdin
}

// argumentsRisk grades arguments that a command takes from its input.
func (q *question) argumentsRisk() Risk {
	risk := RiskMedium
	for _, w := range strings.FieldsFunc(q.stdin, func(c rune) bool { return unicode.IsSpace(c) || c == 0 }) {
		risk = worse(risk, q.argRisk(cmdline.Lit(w), []string{""}))
	}
	return risk
}

// loaders are variables that decide what code a command runs; so do those that begin
// with one of loaderPrefixes.
var (
	loaders = cmdline.Names(`PATH ENV BASH_ENV SHELLOPTS BASHOPTS IFS CDPATH HOME SHELL EDITOR VISUAL PAGER PROMPT_COMMAND PS4
		PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONINSPECT PERL5LIB PERL5OPT PERLLIB RUBYLIB RUBYOPT NODE_OPTIONS NODE_PATH
		CLASSPATH JAVA_TOOL_OPTIONS GOFLAGS GOROOT CC CXX MAKEFLAGS RUSTC_WRAPPER CARGO_HOME`)
	loaderPrefixes = []string{"LD_", "DYLD_", "GIT_", "SSH_", "BASH_FUNC_", "npm_config_"}
)

// envRisk grades a variable that is set for a command: the variables with which waggle describes a
// task are low, those that select the code to run are high.
func envRisk(kv string) (name string, r Risk) {
	name, _, _ = strings.Cut(kv, "=")
	switch {
	case slices.Contains([]string{"WAGGLE_TASK_ID", "WAGGLE_TASK_SUBJECT", "WAGGLE_ARTIFACTS"}, name):
		return name, RiskLow
	case loaders[name], slices.ContainsFunc(loaderPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }):
		return name, RiskHigh
	}
	return name, RiskMedium
}
