package record_test

import (
	"time"

	"waggle/protocol"
	"waggle/record"
)

const uid = record.TeamUID("0123456789abcdef0123456789abcdef")

var start = time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)

const (
	tool = protocol.KindPermissionRequest
	plan = protocol.KindPlanApprovalRequest
	host = protocol.KindSandboxPermissionRequest
)
