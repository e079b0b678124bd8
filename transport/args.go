package transport

import "encoding/json"

// Args are the body of a call, by exact field name. Err refuses the call for the first field that cannot be read.
type Args struct {
	Fields map[string]json.RawMessage
	Err    error
}

// ParseArgs reads the body of a call. An empty one has no fields.
func ParseArgs(body json.RawMessage) (a Args, err error) {
	if len(body) > 0 && json.Unmarshal(body, &a.Fields) != nil {
		err = &CallError{Code: CodeInvalid, Why: "the body of a call is a JSON object"}
	}
	return a, err
}

// Read reads a field. One that is missing leaves into as it is.
func (a *Args) Read(name string, into any) {
	raw, ok := a.Fields[name]
	if !ok || a.Err != nil {
		return
	}
	if err := json.Unmarshal(raw, into); err != nil {
		a.Err = &CallError{Code: CodeInvalid, Why: name + ": " + err.Error()}
	}
}

// Text reads a field that is a text.
func (a *Args) Text(name string) (s string) {
	a.Read(name, &s)
	return s
}

// Bad refuses a call: with Err, else with why.
func (a *Args) Bad(why string) error {
	if a.Err != nil {
		return a.Err
	}
	return &CallError{Code: CodeInvalid, Why: why}
}
