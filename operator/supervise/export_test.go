package supervise

// What is tested as a table.
var (
	Contract  = contract
	ExitText  = exitText
	ReadyText = readyText
	FirstLine = firstLine
	PlanOf    = resumeMember
)
