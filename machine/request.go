package machine

// How far a question has come. A request only moves forward through these.
const (
	RequestPending State = "pending"
	RequestDecided State = "decided"
	RequestSent    State = "sent"
	RequestClosed  State = "closed"
)
