package protocol

// The fields of a plan and of its verdict (protocol §1.5, §1.6).

var planApprovalRequestTable = table[PlanApprovalRequest]{
	rows: []*fieldOf[PlanApprovalRequest]{
		{name: "from", in: "wire:from! api:1:from! early:2:from!", need: true, as: sender, doc: "Whose plan it is."},
		{name: "timestamp", in: "wire:timestamp! catalog:2:timestamp! api:4:timestamp!", as: clock, doc: "When it was asked."},
		{name: "planFilePath", in: "wire:planFilePath! also:planFile", as: text, doc: "Where the plan is kept; shown, never opened."},
		{name: "planContent", in: "wire:planContent! api:2:plan! early:3:plan!", turn: -1, need: true, decides: true,
			as: text, codec: codec[PlanApprovalRequest]{read: (*frame).plan}, doc: "The plan."},
		{name: "requestId", in: "wire:requestId! catalog:1:requestId! api:5:requestId! early:1:requestId! also:requestID", as: pairID, doc: "Pairs the verdict with it."},
		{name: "summary", in: "api:3:summary!", hidden: true, as: text, doc: "The plan in a few words; only seed 002 has it."},
		planGoal, planSteps, planRisks, planTooling,
	},
}.build()

// The parts of seed 000's plan.
var (
	planGoal = &fieldOf[PlanApprovalRequest]{name: "plan.goal", in: "catalog:3:plan.goal!",
		codec: made(func(p *PlanApprovalRequest) string { return p.parts().Goal }), doc: "What the plan is for; a plan without parts stands here whole."}
	planSteps = &fieldOf[PlanApprovalRequest]{name: "plan.steps", in: "catalog:4:plan.steps+",
		codec: texts(func(p *PlanApprovalRequest) []string { return p.parts().Steps }), doc: "What will be done, in order."}
	planRisks = &fieldOf[PlanApprovalRequest]{name: "plan.risks", in: "catalog:5:plan.risks+",
		codec: texts(func(p *PlanApprovalRequest) []string { return p.parts().Risks }), doc: "What may go wrong."}
	planTooling = &fieldOf[PlanApprovalRequest]{name: "plan.tooling", in: "catalog:6:plan.tooling+",
		codec: texts(func(p *PlanApprovalRequest) []string { return p.parts().Tooling }), doc: "The tools it needs."}
)

// parts are the parts of a plan as the catalogue has them.
func (p *PlanApprovalRequest) parts() *Plan {
	if p.Plan == nil || p.Plan.markdown() != p.PlanContent {
		return &Plan{Goal: p.PlanContent}
	}
	return p.Plan
}

var planApprovalResponseTable = table[PlanApprovalResponse]{
	rows: []*fieldOf[PlanApprovalResponse]{
		{name: "requestId", in: "wire:requestId! catalog:1:requestId! api:requestId! tool:request_id! also:requestID", as: pairID, doc: "The id of the request."},
		{name: "approved", in: "wire:approved! catalog:3:approved! api:approve! tool:approve!", decides: true,
			codec: flag(func(p *PlanApprovalResponse) *bool { return &p.Approved }, nil), doc: "The decision."},
		planFeedback,
		{name: "timestamp", in: "wire:timestamp! catalog:2:timestamp! api:timestamp", as: clock, doc: "When it was decided."},
		{name: "permissionMode", in: "wire:permissionMode tool:permissionMode catalog:5:policy.permissionMode api:permissionMode also:mode", decides: true, as: modeText,
			when: func(p *PlanApprovalResponse, _ Dialect) bool { return p.Approved }, doc: "The mode that the approval sets."},
		{name: "planDigest", in: "wire:planDigest-", hidden: true, as: text, doc: "A newer client's digest; what it is of is not known."},
	},
	finish: (*frame).planApprovalResponse,
}.build()

var planFeedback = &fieldOf[PlanApprovalResponse]{
	name: "feedback", in: "wire:feedback api:feedback tool:feedback catalog:4:notes also:reason,error,content,message", as: elsewhere, doc: "Words with the decision.",
}
