package policy

import (
	"fmt"
	"slices"
	"strings"

	"waggle/internal/cmdline"
)

// Own says that a call is the member's own command, byte for byte as it stands in the team file that
// the operator accepted (trust §7). The records of the leader say so, never the call itself.
type Own struct {
	File string `json:"file_sha256"` // of the accepted file
	// Told: what the command reads are instructions of that file, or such as the operator has typed.
	Told bool `json:"told,omitempty"`
	// Approved is the earlier request of this member by which the operator has allowed this command,
	// where it takes its standard input as orders; "": there is none.
	Approved string `json:"approved,omitempty"`
}

// Rule is the Rule of a verdict that allows the command.
func (o Own) Rule() string { return "file:" + o.File }

// byFile allows a member's own command, which no rule and no mode decides. ok is false for any other
// call, and where the mode lets no rule allow it.
func (p Policy) byFile(mode ModeInfo, q *question) (v Verdict, ok bool) {
	own := q.call.Own
	if own == nil || !q.hasText || q.doubt != "" || !mode.rulesReach(q.area) {
		return Verdict{}, false
	}
	if why := q.disowned(); why != "" {
		return Verdict{Ask, "no rule", sentence(why)}, true
	}
	v = Verdict{Allow, own.Rule(), "It is the member's command in the team file that you accepted."}
	if own.Approved != "" {
		v.Why += " You have allowed it as " + own.Approved + "."
	}
	return v, true
}

// disowned says why the accepted file does not suffice for a member's own command, "" when it does.
func (q *question) disowned() string {
	own := q.call.Own
	if word := q.guardedWord(); word != "" {
		return word
	}
	if name := q.unusualEnv(); name != "" {
		return fmt.Sprintf("it is run with %s set", clip(name))
	}
	if q.stdin == "" {
		return ""
	}
	_, invisible := cmdline.Invisible(q.stdin, "\n\t")
	switch {
	case !own.Told:
		return "the accepted team file has the command, and what it reads on its standard input is neither of that file nor typed by you"
	case invisible:
		return "what it reads on its standard input holds invisible characters"
	case own.Approved == "" && q.takesOrders():
		return "the accepted team file has the command, and the command does what its standard input says; a yes is for this command as long as the member is there"
	}
	return ""
}

// guardedWord says what in the text takes effect in other places than the member's tree.
func (q *question) guardedWord() string {
	word, why := q.reachesOut()
	if word == "" {
		return why
	}
	return fmt.Sprintf("the accepted team file has the command, which names %q: that is guarded", clip(word))
}

// takesOrders reports a text in which a program may take its standard input as what it is to do: a
// shell or an interpreter without a script, xargs, a client of a database, a program that applies
// patches, and an agent, whose inner calls nobody gates.
func (q *question) takesOrders() bool {
	if readerOf(q.carries()) == inputIsShell || q.carries().Opaque {
		return true
	}
	return slices.ContainsFunc(q.carries().Commands, func(c []cmdline.Word) bool { return len(c) > 0 && ordered(c) })
}

// orderTakers are programs that do what their input says, beside those of cmdline.ReadsAsCode.
var orderTakers = cmdline.Names(`patch mariadb mycli pgcli litecli usql duckdb mongo mongosh redis-cli sqlcmd sqlplus
	clickhouse clickhouse-client cqlsh influx snowsql bq`)

// agentPrograms are coding agents. Those that waggle gates are members of their own kind, not commands.
var agentPrograms = cmdline.Names(`claude claude-code codex opencode opencode-ai gemini gemini-cli aider aider-chat goose amp
	crush copilot copilot-cli qwen qwen-code cursor-agent cline kilocode droid auggie openhands kimi kimi-cli grok plandex cn
	interpreter open-interpreter mods llm sgpt agent forge q kiro-cli rovodev vibe warp`)

// packageRunners start a program of a package that one of their words names.
var packageRunners = cmdline.Names(`npx bunx uvx pipx pnpm yarn npm bun deno uv pnpx dlx mise`)

// ordered reports a command that takes its standard input as orders.
func ordered(c []cmdline.Word) bool {
	name := cmdline.ProgramName(c[0].Text)
	switch {
	case name == "make" || name == "gmake": // its recipes hand the input on; it reads it itself as -f -
		return slices.ContainsFunc(c[1:], func(w cmdline.Word) bool {
			return w.Sure == cmdline.Unknown || w.Text == "-" || strings.HasPrefix(w.Text, "-f-") || w.Text == "--file=-" || w.Text == "--makefile=-" || strings.HasPrefix(strings.TrimLeft(w.Text, "-f="), "/dev/")
		})
	case name == "git":
		return slices.ContainsFunc(c[1:], func(w cmdline.Word) bool {
			return w.Sure == cmdline.Unknown || slices.Contains([]string{"apply", "am", "fast-import", "update-ref", "update-index", "hash-object", "unpack-objects", "mktree"}, w.Text)
		})
	case orderTakers[name] || agentPrograms[name]:
		return true
	case packageRunners[name]:
		return slices.ContainsFunc(c[1:], func(w cmdline.Word) bool {
			pkg := cmdline.BaseName(w.Text)
			if at := strings.LastIndexByte(pkg, '@'); at > 0 {
				pkg = pkg[:at]
			}
			return w.Sure == cmdline.Unknown || agentPrograms[pkg]
		})
	}
	return cmdline.ReadsAsCode(c)
}
