package record

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"waggle/internal/json/jsontext"
	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
)

// SumN is the N of `waggle/request/N` with which requests are bound from now on. A
// fold checks every record with the sum of its own N (trust §2), so none is ever
// taken away.
const SumN = 2

// SumQuestion is the N of questions: a program that does not know them must not read past one.
const SumQuestion = 3

// SumOf is the N with which requests of a kind are bound from now on.
func SumOf(k protocol.Kind) int {
	if k == KindQuestion {
		return SumQuestion
	}
	return SumN
}

// Ask is the content of a request: a person is shown it, and the digest covers it.
type Ask struct {
	N     int    `json:"n,omitempty"` // whose sum binds it; 0, as in old records: 1
	Tool  string `json:"tool,omitempty"`
	Input string `json:"input,omitempty"` // the JSON text in the message, byte for byte
	Cwd   string `json:"cwd,omitempty"`
	// Host is that of a request for the network: a name, an address, or *.NAME for the hosts below it. Several that
	// are answered as a whole are joined by commas, each with its port, and Port is "" (Targets).
	Host string `json:"host,omitempty"`
	Port string `json:"port,omitempty"`
	// Refused is why nobody can be asked: the request is answered with a denial that says it. It is not in the
	// digest.
	Refused string `json:"refused,omitempty"`
	// Spelled is the host as another program asked for it, where that is not its normal
	// form: it goes back in the answer and is not in the digest.
	Spelled string `json:"spelled,omitempty"`
	Plan    string `json:"plan,omitempty"`
	Reason  string `json:"reason,omitempty"` // display only, not in the digest
	// PlanFile is where the member keeps a copy of the plan, and Revision numbers its
	// plans for one piece of work: display only, not in the digest.
	PlanFile string `json:"plan_file,omitempty"`
	Revision int    `json:"revision,omitempty"`
	// ToolUseID goes back in the answer; it is not in the digest.
	ToolUseID string `json:"tool_use_id,omitempty"`

	// Sandboxed: when it was asked, the call was to run wholly inside a sandbox of the member that
	// had passed its self-test. The rules are asked with it, and the call starts only if that
	// still is so. It is not in the digest.
	Sandboxed bool `json:"sandboxed,omitempty"`
	// MustAsk is policy.Call.MustAsk: why no rule and no mode allows it. It is not in the digest.
	MustAsk string `json:"must_ask,omitempty"`
	// Own: the member's worker has found in the leader's journal that the call is the member's own command
	// of the accepted team file. It is not in the digest.
	Own *policy.Own `json:"own,omitempty"`

	// Bound is what else of a tool call the sum of N = 2 covers.
	Bound
}

// Bound is the part of a tool call beside its input.
type Bound struct {
	Stdin string   `json:"stdin,omitempty"` // what the command reads
	Env   []string `json:"env,omitempty"`   // what the member adds for it: NAME=VALUE, sorted
	// Held says that waggle runs the call itself. Otherwise Program, Words and Scripts are empty,
	// and Paths are those that were resolved when it was asked: checked, not held.
	Held    bool       `json:"held,omitempty"`
	Program string     `json:"program,omitempty"` // the file that argv[0] is
	Words   []Resolved `json:"words,omitempty"`   // the files that literal command words name, in order
	Scripts []Script   `json:"scripts,omitempty"` // the scripts that interpreters will run
	Paths   []RealPath `json:"paths,omitempty"`   // where the paths in the input lead
}

// Resolved is a command word and the file that it names on the child's PATH.
type Resolved struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// Script is a file that an interpreter is to run, with the hash of its content.
type Script struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// RealPath is a path as the request spells it, absolute, and the path it resolves to;
// Real is empty when it could not be resolved.
type RealPath = policy.RealPath

// Sum is the N by which the request is bound.
func (a Ask) Sum() int { return max(a.N, 1) }

// CheckSum refuses a request that this program cannot check: one with the sum of a later
// version, and one that holds what its own sum does not cover.
func (a Ask) CheckSum(kind protocol.Kind) error {
	switch {
	case a.N < 0 || a.N == 1:
		return fmt.Errorf("a request with the sum %d: 1 is written as none", a.N)
	case a.N > SumQuestion:
		return &journal.FutureError{What: fmt.Sprintf("request with the sum waggle/request/%d", a.N)}
	case (a.N == SumQuestion) != (kind == KindQuestion):
		return fmt.Errorf("a %s with the sum %d", kind, a.N)
	case (a.N < 2 || kind != protocol.KindPermissionRequest) && !a.Bound.empty():
		return errors.New("a request that holds what its sum does not cover")
	}
	return nil
}

func (b Bound) empty() bool {
	return b.Stdin == "" && len(b.Env) == 0 && !b.Held && b.Program == "" && len(b.Words) == 0 && len(b.Scripts) == 0 && len(b.Paths) == 0
}

// With is the request with another input. The programs and paths that were resolved for the first
// input are dropped, because they do not describe the other one; standard input is taken from the
// new input only.
func (a Ask) With(input string) Ask {
	a.Input, a.Own = input, nil
	if a.Sum() >= 2 {
		a.Stdin, a.Program, a.Words, a.Scripts = StdinOf(input), "", nil, nil
		// The resolved working directory stays: an unresolved path is a doubt.
		a.Paths = slices.DeleteFunc(slices.Clone(a.Paths), func(p RealPath) bool { return p.Spelled != path.Clean(a.Cwd) })
	}
	return a
}

// StdinOf is the "stdin" of a tool's input, "" when there is none.
func StdinOf(input string) string { return jsontext.TextAt(input, "stdin") }

// CommandOf is the "command" of a tool's input, "" when there is none.
func CommandOf(input string) string { return jsontext.TextAt(input, "command") }

// Call is the tool call as policy judges it: by where its paths led when it was asked,
// and as text when that is not on record.
func (a Ask) Call() policy.Call {
	c := policy.Call{Tool: a.Tool, Input: []byte(a.Input), Cwd: a.Cwd, Stdin: a.Stdin, Env: a.Env, Sandboxed: a.Sandboxed, MustAsk: a.MustAsk, Own: a.Own}
	if a.Paths != nil {
		c.Links = policy.Recorded(a.Paths)
	}
	return c
}

// As is the request as an older program would have recorded it, which put what the
// command reads nowhere.
func (a Ask) As(n int) Ask {
	if n >= 2 || a.Sum() == n {
		return a
	}
	if head, ok := strings.CutSuffix(a.Input, `,"stdin":`+plain(a.Stdin)+"}"); ok && a.Stdin != "" {
		a.Input = head + "}"
	}
	a.N, a.Sandboxed, a.Own, a.Bound = 0, false, nil, Bound{}
	return a
}

// Bare is what the agent asks for, without what was found of it.
func (a Ask) Bare() Ask {
	a.Sandboxed, a.Own, a.Bound = false, nil, Bound{Stdin: a.Stdin}
	return a
}

// plain writes s as a JSON string with the characters as they are.
func plain(s string) string {
	b, _ := jsontext.Marshal(s) // strings always encode
	return string(b)
}

// DigestOf binds a request to what it asks (trust §2): SHA-256 over length-
// prefixed fields, those of the request's own N. There is no canonical JSON: equal
// digests mean equal bytes. It is "" for an N that is not known.
func DigestOf(uid TeamUID, k Key, a Ask) Digest {
	n := a.Sum()
	if n > SumQuestion {
		return ""
	}
	h := sha256.New()
	put := func(parts ...string) { put(h, parts...) }
	put("waggle/request/"+strconv.Itoa(n), string(uid), string(k.Instance), string(k.Kind), string(k.ID))
	switch k.Kind {
	case protocol.KindSandboxPermissionRequest:
		put(a.Host, a.Port)
	case protocol.KindPlanApprovalRequest:
		put(a.Plan)
	case KindQuestion:
		put(a.Input)
	default:
		put(a.Tool, a.Cwd, a.Input)
		if n >= 2 {
			a.Bound.put(put)
		}
	}
	return Digest(hex.EncodeToString(h.Sum(nil)))
}

// put writes texts into a sum, each behind its length.
func put(h hash.Hash, parts ...string) {
	var n [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
}

// put gives every field to a sum or a check; a list is its length and its elements.
func (b Bound) put(put func(...string)) {
	put(b.Stdin, strconv.Itoa(len(b.Env)))
	put(b.Env...)
	put(strconv.FormatBool(b.Held), b.Program, strconv.Itoa(len(b.Words)))
	for _, w := range b.Words {
		put(w.Name, w.Path)
	}
	put(strconv.Itoa(len(b.Scripts)))
	for _, s := range b.Scripts {
		put(s.Path, s.SHA256)
	}
	put(strconv.Itoa(len(b.Paths)))
	for _, p := range b.Paths {
		put(p.Spelled, p.Real)
	}
}

// Check refuses what a journal and a message could not both hold byte for byte.
func (a Ask) Check(kind protocol.Kind) error {
	if !IsRequest(kind) {
		return fmt.Errorf("ask: %s is not a question", kind)
	}
	texts := []string{a.Tool, a.Input, a.Cwd, a.Host, a.Port, a.Refused, a.Spelled, a.Plan, a.Reason, a.PlanFile, a.ToolUseID, a.MustAsk}
	a.Bound.put(func(parts ...string) { texts = append(texts, parts...) })
	if a.Own != nil {
		texts = append(texts, a.Own.File, a.Own.Approved)
	}
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return fmt.Errorf("ask: %.40q is not valid UTF-8", s)
		}
	}
	if strings.TrimSpace(a.Input) != a.Input {
		return errors.New("ask: the input has white space around it")
	}
	if kind == KindQuestion {
		qs, err := Questions(a.Input)
		if err != nil {
			return err
		}
		return CheckQuestions(qs)
	}
	return nil
}

// Hostport is the host as the messages name it.
func (a Ask) Hostport() string {
	if a.Port == "" {
		return a.Host
	}
	return net.JoinHostPort(a.Host, a.Port)
}

// Target is one host that a request asks for.
type Target struct{ Host, Port string }

// Wild reports a target of many hosts: *.NAME.
func (t Target) Wild() bool { return strings.HasPrefix(t.Host, "*.") }

func (t Target) String() string { return Ask{Host: t.Host, Port: t.Port}.Hostport() }

// Join is the Host and the Port of a request for these targets.
func Join(ts []Target) (host, port string) {
	if len(ts) == 1 {
		return ts[0].Host, ts[0].Port
	}
	texts := make([]string, len(ts))
	for i, t := range ts {
		texts[i] = t.String()
	}
	return strings.Join(texts, ","), ""
}

// Targets lists the hosts that a request for the network asks for.
func (a Ask) Targets() []Target {
	if !strings.Contains(a.Host, ",") {
		return []Target{{a.Host, a.Port}}
	}
	var ts []Target
	for text := range strings.SplitSeq(a.Host, ",") {
		t := Target{Host: text}
		if host, port, err := net.SplitHostPort(text); err == nil {
			t = Target{host, port}
		}
		ts = append(ts, t)
	}
	return ts
}
