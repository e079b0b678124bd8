package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/cli/decidecmd"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/fresh"
	"waggle/operator/proposal"
)

// proposeFlag is the flag with which waggle new proposes.
const proposeFlag = "propose"

// proposable are the flags of waggle new that a proposal can have; what runs, what is allowed and where is the
// person's to say.
var proposable = map[string]bool{proposeFlag: true, "wait": true, "name": true, "model": true, "base": true, "attempts": true, "split": true, "command": true}

// approveCmd is waggle approve.
func approveCmd(a *app.App) *cobra.Command { return decidecmd.Approve(a, startProposal) }

// propose puts a new member before the person.
func propose(ctx context.Context, a *app.App, cmd *cobra.Command, n newFlags, args []string) error {
	usage := func(msg string) error {
		return &operator.Error{Kind: operator.Usage, Op: "propose", Msg: msg, Advice: `waggle new --propose "TASK"`}
	}
	var not []string
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && !proposable[f.Name] {
			not = append(not, "--"+f.Name)
		}
	})
	if len(not) > 0 {
		return usage("the person says " + strings.Join(not, ", ") + " when a member starts: not with --propose")
	}
	if len(args) > 0 && args[len(args)-1] == "-" {
		return usage("a proposal is one task: not -")
	}
	op, err := a.Op()
	if err != nil {
		return err
	}
	wants, err := n.wants(ctx, a, op, args)
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	p, err := fresh.Of(op).Propose(ctx, wants[0], dir)
	if err != nil {
		return agentAdvice(err)
	}
	if !cmd.Flags().Changed("wait") {
		return a.Give(view.Proposal(*p, a.Now()), view.ProposalPage(*p, a.Now()))
	}
	if !a.Flags.JSON {
		a.Talk("proposed %s: it waits for the person", p.Handle())
	}
	now, err := fresh.Of(op).AwaitProposal(ctx, p.ID, n.wait)
	if err != nil {
		return err
	}
	return errors.Join(a.Give(view.Proposal(now, a.Now()), view.ProposalPage(now, a.Now())), unanswered(now, a.Now()))
}

// unanswered is the error of a proposal that did not start while its proposer waited.
func unanswered(p proposal.Proposal, now time.Time) error {
	switch state := p.Now(now); state {
	case proposal.Started:
		return nil
	case proposal.Denied:
		return &operator.Error{Kind: operator.Refused, Op: "propose", Msg: p.Handle() + " was refused" + operator.Suffix(p.Reason)}
	case proposal.Expired:
		return &operator.Error{Kind: operator.Question, Op: "propose", Msg: "nobody answered " + p.Handle() + " in time"}
	default:
		return &operator.Error{Kind: operator.Question, Op: "propose", Msg: p.Handle() + " still waits for the person", Advice: "waggle show " + p.Handle() + " says what became of it"}
	}
}

// startProposal starts what a proposal proposes, as waggle new does.
func startProposal(ctx context.Context, a *app.App, q decide.Request) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	opt, err := newOptions(a, op)
	if err != nil {
		return err
	}
	st, err := fresh.Of(op).Start(ctx, q.ID, q.Digest, opt)
	if st == nil {
		return agentAdvice(err)
	}
	return errors.Join(err, sayStarted(a, st))
}
