package decidecmd

import (
	"context"
	"strings"

	"waggle/internal/face/cli/app"
	"waggle/operator"
	"waggle/operator/decide"
)

// approveProposal shows a proposal that a person names, asks, and starts it. done is false where no proposal is named.
func approveProposal(ctx context.Context, a *app.App, op operator.Operator, ids []string, f approveFlags, start Start) (done bool, err error) {
	var q *decide.Request
	for _, id := range ids {
		if a.Flags.Team != "" || q != nil {
			break
		}
		_, err := decide.Of(op).Show(ctx, decide.SessionTeam, id)
		if isUnknown(err) {
			continue
		}
		if err == nil {
			q, err = find(ctx, a, op, id) // a team may have one of this name too, which is refused
		}
		if err != nil {
			return false, err
		}
		if q.Kind != decide.KindProposal || isMember(ctx, op, id) { // whoever writes a proposal can choose its handle
			q = nil
		}
	}
	usage := func(msg string) error {
		return &operator.Error{Kind: operator.Usage, Op: "approve", Msg: msg, Next: operator.Next{Step: operator.NextApproveOf, ID: q.Handle}}
	}
	switch {
	case q == nil:
		return false, nil
	case len(ids) > 1:
		return true, usage(q.Handle + " is a proposal: start each by itself")
	case f.UpdatedInput != "" || f.rule != "" || f.expires != "" || f.scope != "member":
		return true, usage(q.Handle + " is a proposal, which takes no rule and no other input")
	case f.Digest != "" && (len(f.Digest) < 16 || !strings.HasPrefix(q.Digest, f.Digest)):
		return true, &operator.Error{Kind: operator.Refused, Op: "approve", Msg: "the digest is not that of what " + q.Handle + " proposes", Next: operator.Next{Step: operator.NextShowAgain, ID: q.Handle}}
	case q.Status != decide.StatusOpen || f.yes:
	case !a.CanAsk():
		return true, &operator.Error{Kind: operator.Question, Op: "approve", Msg: q.Handle + " is a proposal, and nobody said that its text, which an agent wrote, may start a member",
			Advice: "waggle show " + q.Handle + " shows it whole; waggle approve " + q.Handle + " --yes starts it"}
	default:
		if err := confirmed(a.RequestYes(ctx, *q, "", "start it?", false)); err != nil {
			return true, err
		}
	}
	return true, start(ctx, a, *q)
}
