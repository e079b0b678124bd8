package relay

// A Point is one promise of a sandbox, and the result of its test.
type Point struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"` // what the test saw
}

// ProbeSpec lists what the probe tests. An empty field skips its test.
type ProbeSpec struct {
	Writable string   `json:"writable,omitempty"` // a directory in which a file can be made
	Outside  string   `json:"outside,omitempty"`  // a directory in which no file can be made
	Secret   string   `json:"secret,omitempty"`   // a file that cannot be read
	Hidden   string   `json:"hidden,omitempty"`   // a file that does not exist inside
	Direct   []string `json:"direct,omitempty"`   // network and address of connections that are refused
	Denied   string   `json:"denied,omitempty"`   // a host that the proxy refuses
	Env      []string `json:"env,omitempty"`      // variables that the environment inside does not have
	PID      int      `json:"pid,omitempty"`      // a process outside
	Sockets  bool     `json:"sockets,omitempty"`  // Unix sockets are permitted
}

// WritablePoint is the name of the point that no promise is behind: a full disk fails it too.
const WritablePoint = "the member's directory is writable"
