package teams

import (
	"context"

	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/process"
)

// deleteDamaged is Delete of such a team.
func (o Operator) deleteDamaged(ctx context.Context, s *operator.State, do DeleteOptions, d *Deleted) error {
	for _, m := range s.Lead.Live() {
		if m.Process == nil || m.Process.ID.Inside || !m.Process.ID.Alive() {
			continue
		}
		r := inspect.Running{Name: m.Name, PID: m.Process.ID.PID}
		if do.Report != nil {
			do.Report(r, true)
		}
		d.Ended = append(d.Ended, r)
	}
	end, err := process.Of(o.Operator).EndDamaged(ctx, s, process.StopOptions{Force: true})
	if err != nil {
		return err
	}
	d.Archive, d.Tasks = end.Archive, "archived"
	return nil
}
