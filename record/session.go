package record

// Further record kinds of a worker's journal: what its agent says of itself. They decide nothing.
const (
	KindConversation = "conversation" // Conversation
	KindUsed         = "used"         // Usage
	KindSteps        = "steps"        // Steps
	KindPane         = "pane"         // Pane
)

// Pane says what the program in the member's pane waits for, which a person has to do there.
type Pane struct {
	Waits string `json:"waits"` // what it shows; "": it waits no more
}

// Conversation is the agent's own conversation, which a later process of the member resumes by its
// id.
type Conversation struct {
	ID      string `json:"id"`
	Model   string `json:"model,omitempty"`
	Resumed bool   `json:"resumed,omitempty"` // it goes on with its history
}

// Sources of a usage.
const (
	UsageReported  = "reported"  // by the agent's own client
	UsageEstimated = "estimated" // by waggle, or a part of it was
)

// Usage is what an agent used: of a record, since the one before; of a member, in all.
type Usage struct {
	ID         string `json:"id,omitempty"` // the agent's own, of a result: it counts once
	Input      int64  `json:"input_tokens,omitempty"`
	Output     int64  `json:"output_tokens,omitempty"`
	CacheRead  int64  `json:"cache_read_tokens,omitempty"`
	CacheWrite int64  `json:"cache_write_tokens,omitempty"`
	CostMicros int64  `json:"cost_usd_micros,omitempty"` // millionths of a dollar
	Source     string `json:"source"`
}

// Tokens are all tokens of a usage.
func (u Usage) Tokens() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// Valid reports a usage that counts forward.
func (u Usage) Valid() bool {
	return min(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CostMicros) >= 0 && (u.Source == UsageReported || u.Source == UsageEstimated)
}

// Plus adds a usage. A sum is reported when all of it is.
func (u Usage) Plus(v Usage) Usage {
	if u.Source == UsageEstimated {
		v.Source = UsageEstimated
	}
	v.Input, v.Output, v.CostMicros = u.Input+v.Input, u.Output+v.Output, u.CostMicros+v.CostMicros
	v.CacheRead, v.CacheWrite = u.CacheRead+v.CacheRead, u.CacheWrite+v.CacheWrite
	return v
}

// Steps are the steps that the agent has declared for its turn, all of them anew each time.
type Steps struct {
	Steps []Step `json:"steps"`
}

// Step is a step that an agent declared.
type Step struct {
	Text  string `json:"text"`
	State string `json:"state"` // pending, in_progress or completed
}
