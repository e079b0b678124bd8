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
	Dir     string `json:"dir,omitempty"`     // where it was begun, when it belongs to one directory
}

// Sources of a usage.
const (
	UsageReported  = "reported"  // by the agent's own client
	UsageEstimated = "estimated" // by waggle, or a part of it was
)

// Usage is what an agent used: of a record, since the one before; of a member, in all. A journal of
// before turns were counted has none in its usages.
type Usage struct {
	ID         string `json:"id,omitempty"` // the agent's own, of a result: it counts once
	Input      int64  `json:"input_tokens,omitempty"`
	Output     int64  `json:"output_tokens,omitempty"`
	CacheRead  int64  `json:"cache_read_tokens,omitempty"`
	CacheWrite int64  `json:"cache_write_tokens,omitempty"`
	CostMicros int64  `json:"cost_usd_micros,omitempty"` // millionths of a dollar
	// Turns are turns of the model, as the agent's client counts them; of a turn of the session in which
	// it counted none, one.
	Turns  int64  `json:"turns,omitempty"`
	Source string `json:"source"` // "": of a member whose agent says nothing, so that only its turns are known
}

// Tokens are all tokens of a usage.
func (u Usage) Tokens() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// Valid reports a usage that counts forward. One without a source has only turns.
func (u Usage) Valid() bool {
	switch u.Source {
	case UsageReported, UsageEstimated:
		return min(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CostMicros, u.Turns) >= 0
	}
	return u == Usage{Turns: max(u.Turns, 0)}
}

// Plus adds a usage. A sum is reported when all of it is that has a source.
func (u Usage) Plus(v Usage) Usage {
	if u.Source == UsageEstimated || v.Source == "" {
		v.Source = u.Source
	}
	v.Turns += u.Turns
	v.Input, v.Output, v.CostMicros = u.Input+v.Input, u.Output+v.Output, u.CostMicros+v.CostMicros
	v.CacheRead, v.CacheWrite = u.CacheRead+v.CacheRead, u.CacheWrite+v.CacheWrite
	return v
}

// Minus is what a usage counts above an earlier one of the same member or team.
func (u Usage) Minus(v Usage) Usage {
	u.Input, u.Output, u.CostMicros, u.Turns = u.Input-v.Input, u.Output-v.Output, u.CostMicros-v.CostMicros, u.Turns-v.Turns
	u.CacheRead, u.CacheWrite = u.CacheRead-v.CacheRead, u.CacheWrite-v.CacheWrite
	return u
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
