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
	// Standing: the question about the call says that a yes is for the command (RuleOrders).
	Standing bool `json:"standing,omitempty"`
}

// RuleOrders is the Rule of a verdict that asks whether a member's own command may take its standard input as orders: a
// yes is for the command as long as the member is there.
const RuleOrders = "orders"

// rule is the Rule of a verdict that allows the command.
func (o Own) rule() string { return "file:" + o.File }

// byFile allows a member's own command, which no rule and no mode decides. ok is false for any other
// call, and where the mode lets no rule allow it.
func (p Policy) byFile(mode ModeInfo, q *question) (v Verdict, ok bool) {
	own := q.call.Own
	if own == nil || !q.hasText || q.doubt != "" || !mode.rulesReach(q.area) {
		return Verdict{}, false
	}
	switch why := q.disowned(); {
	case why != "":
		return Verdict{Ask, "no rule", sentence(why)}, true
	case q.stdin != "" && own.Approved == "" && q.takesOrders():
		return Verdict{Ask, RuleOrders, "The accepted team file has the command, and the command does what its standard input says; a yes is for this command as long as the member is there."}, true
	}
	v = Verdict{Allow, own.rule(), "It is the member's command in the team file that you accepted."}
	if own.Approved != "" {
		v.Why += " You have allowed it as " + own.Approved + "."
	}
	return v, true
}

// disowned says why the accepted file does not suffice for a member's own command, "" when it does.
func (q *question) disowned() string {
	own := q.call.Own
	switch word, why := q.reachesOut(); { // it takes effect in other places than the member's tree
	case word != "":
		return fmt.Sprintf("the accepted team file has the command, which names %q: that is guarded", clip(word))
	case why != "":
		return why
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
	}
	return ""
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
	clickhouse clickhouse-client cqlsh influx snowsql bq cockroach spark-sql spark-shell beeline trino hive
	tsx ts-node ipython bpython ptpython pry iex ocaml utop sbcl clj clojure m4 dotnet rails runghc ghci deno bun
	su nix-shell chroot unshare nsenter script tmux sftp ftp lftp telnet socat`)

// agentPrograms are coding agents. Those that waggle gates are members of their own kind, not commands.
var agentPrograms = cmdline.Names(`claude claude-code codex opencode opencode-ai gemini gemini-cli aider aider-chat goose amp
	crush copilot copilot-cli qwen qwen-code cursor-agent cline kilocode droid auggie openhands kimi kimi-cli grok plandex cn
	interpreter open-interpreter mods llm sgpt agent forge q kiro-cli rovodev vibe warp ollama aichat gptme ccr jules iflow
	codebuff swe-agent cody junie devin pi`)

// runnersOf start a program, or a module, that one of their words names.
var runnersOf = cmdline.Names(`npx bunx uvx pipx pnpm yarn npm uv pnpx mise poetry pipenv conda bundle hatch pdm rye gh python python3 heroku`)

// consoles are modules and commands of frameworks that read what they are to do.
var consoles = cmdline.Names(`code IPython bpython ptpython pdb shell dbshell shell_plus console dbconsole c runner pg:psql -`)

// ordered reports a command that takes its standard input as orders.
func ordered(c []cmdline.Word) bool {
	name, base := cmdline.ProgramName(c[0].Text), cmdline.BaseName(c[0].Text)
	switch {
	case name == "make" || name == "gmake" || name == "curl": // its recipes hand the input on; it reads it itself as -f -
		return slices.ContainsFunc(c[1:], func(w cmdline.Word) bool {
			return w.Sure == cmdline.Unknown || strings.HasSuffix(w.Text, "-") || strings.Contains(w.Text, "/dev/") || strings.Contains(w.Text, "/proc/")
		})
	case name == "git":
		return slices.ContainsFunc(c[1:], func(w cmdline.Word) bool {
			return w.Sure == cmdline.Unknown || slices.Contains([]string{"apply", "am", "fast-import", "update-ref", "update-index", "hash-object", "unpack-objects", "mktree", "rebase"}, w.Text)
		})
	case orderTakers[name] || orderTakers[base] || agentPrograms[name] || agentPrograms[base]:
		return true
	case runnersOf[base] && slices.ContainsFunc(c[1:], startsTaker), cmdline.CodeReaders[name] && len(c) > 2 && consoles[c[2].Text]:
		return true
	}
	return cmdline.ReadsAsCode(c)
}

// startsTaker reports a word of a runner that may name a program which takes orders.
func startsTaker(w cmdline.Word) bool {
	pkg := cmdline.BaseName(w.Text)
	if at := strings.LastIndexByte(pkg, '@'); at > 0 {
		pkg = pkg[:at]
	}
	return w.Sure == cmdline.Unknown || agentPrograms[pkg] || orderTakers[pkg] || consoles[pkg] || cmdline.Shells[pkg] || cmdline.CodeReaders[pkg]
}
