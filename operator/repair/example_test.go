package repair_test

import (
	"context"
	"fmt"

	"waggle/operator"
	"waggle/operator/repair"
	"waggle/operator/supervise"
	"waggle/protocol"
)

// A person looks at the damage of a team, and then names it by its record.
func Example() {
	repairs := func(ctx context.Context, op operator.Operator, name protocol.TeamName) (*repair.Damage, error) {
		d, err := repair.Of(op).Look(ctx, name, "")
		if err != nil || d.Broken == nil {
			return d, err
		}
		fmt.Printf("%s, line %d: %s\n", d.Broken.File, d.Broken.Line, d.Broken.Why)
		return repair.Of(op).Repair(ctx, name, d.Broken.Member, d.Broken.Seq, supervise.LeadOptions{})
	}
	_ = repairs
	fmt.Println((&repair.Damage{Broken: &repair.Broken{Seq: 6}}).Acknowledged())
	fmt.Println((&repair.Damage{Divergence: &repair.Divergence{Seq: 6, Lifted: true}}).Acknowledged())
	// Output:
	// false
	// true
}
