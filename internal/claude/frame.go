package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"waggle/internal/json/jsonobj"
)

// Frame is one line of the client's output: an Init, Status, Said, Ran, Ended, Asked, Answered,
// Working, Cancelled or Limited, or an Other.
type Frame any

// Init is the client's description of itself, at the start of each turn.
type Init struct{ Session, Model, Mode string }

// Status says that the client's permission mode has changed.
type Status struct{ Mode string }

// Said is output of the model: text and calls. Tokens is the usage of its answer so far.
type Said struct {
	Message string // its id; several frames have parts of one answer
	Text    string
	Calls   []Called
	Tokens  Tokens
	Inner   bool   // a subagent's
	Error   string // of the client's own words in place of an answer: why the model could not be asked
}

// Called is a tool call of the model, before its request.
type Called struct {
	ID, Tool string
	Input    json.RawMessage // as the model gave it
}

// Ran is the results of tool calls.
type Ran struct{ Results []Returned }

// Returned is the result of one call.
type Returned struct {
	ID     string // tool_use_id
	Failed bool
	Text   string
}

// Ended is the end of a turn.
type Ended struct {
	Failed  bool
	Subtype string // success, error_max_turns, error_during_execution, …
	Text    string
	Session string
	ID      string // its own
	Status  int    // HTTP status of the model's API when it failed; else 0
	Tokens  Tokens
	USD     *float64 // cost of the session so far; nil: not reported
	Turns   int64    // of the model; 0: not reported
}

// Tokens are counts of a model's tokens.
type Tokens struct{ Input, Output, CacheRead, CacheWrite int64 }

// Total is their sum.
func (t Tokens) Total() int64 { return t.Input + t.Output + t.CacheRead + t.CacheWrite }

func (t Tokens) plus(u Tokens) Tokens {
	return Tokens{t.Input + u.Input, t.Output + u.Output, t.CacheRead + u.CacheRead, t.CacheWrite + u.CacheWrite}
}

// Asked is a request of the client to its host.
type Asked struct {
	ID      string
	Subtype string // can_use_tool, mcp_message, elicitation, or an unknown subtype
	Tool    string
	Input   json.RawMessage // the bytes of the object; nil when there is none
	UseID   string
	Why     string // description
	Server  string // of an mcp_message: the tool server
	Message json.RawMessage
	Request *jsonobj.Object // the whole request
	// Ambiguous is the reason why the request has more than one reading; "" for one reading.
	Ambiguous string
}

// Answered is the client's answer to a request of its host.
type Answered struct {
	ID    string
	OK    bool
	Error string
	Body  *jsonobj.Object // of a success; may be nil
}

// Working says how many agents of the client work in the background.
type Working struct{ Agents int }

// Cancelled cancels a request of the client.
type Cancelled struct{ ID string }

// Limited reports a usage limit of the account.
type Limited struct {
	Rejected bool
	Kind     string    // five_hour, seven_day, …
	Until    time.Time // zero: not reported
}

// Other is a frame that this package does not know or use.
type Other struct{ Type, Subtype string }

// Decode reads one line by exact field name. A frame of an unknown type is an Other; an error means
// that the line is no frame.
func Decode(line []byte) (Frame, error) {
	o, err := jsonobj.Parse(line)
	if err != nil {
		return nil, err
	}
	kind, sub := o.Text("type"), o.Text("subtype")
	if kind == "" {
		return nil, errors.New("the line is an object without a type")
	}
	switch kind {
	case "system":
		return system(o, sub), nil
	case "assistant":
		return said(o), nil
	case "user":
		return ran(o), nil
	case "result":
		return ended(o, sub), nil
	case "control_request":
		return asked(o)
	case "control_response":
		return answered(o)
	case "control_cancel_request":
		return Cancelled{o.Text("request_id")}, nil
	case "rate_limit_event":
		return limited(o), nil
	}
	return Other{kind, sub}, nil
}

func system(o *jsonobj.Object, sub string) Frame {
	switch sub {
	case "init":
		return Init{Session: o.Text("session_id"), Model: o.Text("model"), Mode: o.Text("permissionMode")}
	case "status":
		return Status{o.Text("permissionMode")}
	case "background_tasks_changed":
		return working(o)
	}
	return Other{"system", sub}
}

// working counts the agents among a client's work in the background. What it runs there without a model, a
// server for example, may last for ever.
func working(o *jsonobj.Object) (w Working) {
	for _, task := range o.Objects("tasks") {
		// What is ambient, or runs elsewhere, lasts by its own account.
		if !isTrue(task, "ambient") && !isTrue(task, "off_host") && slices.Contains([]string{"local_agent", "local_workflow"}, task.Text("task_type")) {
			w.Agents++
		}
	}
	return w
}

func said(o *jsonobj.Object) Frame {
	m := o.Object("message")
	s := Said{Message: m.Text("id"), Tokens: tokens(m.Object("usage")), Inner: o.Text("parent_tool_use_id") != "", Error: o.Text("error")}
	for _, b := range m.Objects("content") {
		switch b.Text("type") {
		case "text":
			s.Text += b.Text("text")
		case "tool_use":
			in, _ := b.Get("input")
			s.Calls = append(s.Calls, Called{b.Text("id"), b.Text("name"), in})
		}
	}
	return s
}

func ran(o *jsonobj.Object) Frame {
	var r Ran
	for _, b := range o.Object("message").Objects("content") {
		if b.Text("type") == "tool_result" {
			r.Results = append(r.Results, Returned{ID: b.Text("tool_use_id"), Failed: isTrue(b, "is_error"), Text: content(b)})
		}
	}
	if r.Results == nil {
		return Other{"user", ""}
	}
	return r
}

func ended(o *jsonobj.Object, sub string) Frame {
	e := Ended{Failed: isTrue(o, "is_error") || sub != "success", Subtype: sub, Text: o.Text("result"), Session: o.Text("session_id"), ID: o.Text("uuid"),
		Tokens: tokens(o.Object("usage"))}
	if n, ok := number(o, "api_error_status"); ok && n > 0 && n < 1000 {
		e.Status = int(n)
	}
	if usd, ok := number(o, "total_cost_usd"); ok && usd >= 0 {
		e.USD = &usd
	}
	if n, ok := number(o, "num_turns"); ok && n >= 1 && n <= mostTurns {
		e.Turns = int64(n)
	}
	return e
}

// asked reads a request. An answer needs its id; a line without one is no frame.
func asked(o *jsonobj.Object) (Frame, error) {
	r := o.Object("request")
	a := Asked{ID: o.Text("request_id"), Subtype: r.Text("subtype"), Tool: r.Text("tool_name"), UseID: r.Text("tool_use_id"), Why: r.Text("description"),
		Server: r.Text("server_name")}
	a.Message, _ = r.Get("message")
	a.Request = r
	if a.ID == "" {
		return nil, errors.New("a control_request without request_id")
	}
	if in, ok := r.Get("input"); ok && jsonobj.TypeOf(in) == "object" {
		a.Input = in
	}
	for _, one := range []*jsonobj.Object{o, r} {
		if twice := one.Duplicates(); len(twice) > 0 {
			a.Ambiguous = fmt.Sprintf("%q occurs twice in the request", twice[0])
		}
	}
	return a, nil
}

func answered(o *jsonobj.Object) (Frame, error) {
	r := o.Object("response")
	a := Answered{ID: r.Text("request_id"), OK: r.Text("subtype") == "success", Error: r.Text("error")}
	if a.ID == "" {
		return nil, errors.New("a control_response without request_id")
	}
	if a.OK {
		a.Body = r.Object("response")
	}
	return a, nil
}

func limited(o *jsonobj.Object) Frame {
	i := o.Object("rate_limit_info")
	l := Limited{Rejected: i.Text("status") == "rejected", Kind: i.Text("rateLimitType")}
	// With paid overage the client continues after the limit.
	if i.Text("overageStatus") == "allowed" || isTrue(i, "isUsingOverage") {
		l.Rejected = false
	}
	if at, ok := number(i, "resetsAt"); ok {
		l.Until = instant(at)
	}
	return l
}

// instant reads a Unix time in seconds, or in milliseconds where it is too large for seconds.
func instant(at float64) time.Time {
	const largest = 1e11 // seconds: the year 5138
	switch {
	case at <= 0 || at > 8.64e15:
		return time.Time{}
	case at > largest:
		return time.UnixMilli(int64(at)).UTC()
	}
	return time.Unix(int64(at), 0).UTC()
}

func tokens(o *jsonobj.Object) Tokens {
	n := func(key string) int64 {
		v, ok := number(o, key)
		if !ok || v < 0 || v > math.MaxInt32*1e3 {
			return 0
		}
		return int64(v)
	}
	return Tokens{Input: n("input_tokens"), Output: n("output_tokens"), CacheRead: n("cache_read_input_tokens"), CacheWrite: n("cache_creation_input_tokens")}
}

func isTrue(o *jsonobj.Object, key string) bool {
	raw, _ := o.Get(key)
	return string(raw) == "true"
}

func number(o *jsonobj.Object, key string) (float64, bool) {
	raw, ok := o.Get(key)
	if !ok || jsonobj.TypeOf(raw) != "number" {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	return n, err == nil
}

// content is the text of a tool's result: a string, or the texts of its blocks.
func content(b *jsonobj.Object) string {
	raw, _ := b.Get("content")
	if s, ok := jsonobj.String(raw); ok {
		return s
	}
	var words string
	for _, inner := range b.Objects("content") {
		words += inner.Text("text")
	}
	return words
}
