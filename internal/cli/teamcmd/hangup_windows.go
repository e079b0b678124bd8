package teamcmd

import (
	"context"

	"waggle/operator"
)

// onHangup has no effect: there is no SIGHUP.
func onHangup(context.Context, operator.Operator, *operator.State) (stop func()) { return func() {} }

func withoutHangup() (stop func()) { return func() {} }
