package record_test

import (
	"time"

	"waggle"
	"waggle/record"
)

const uid = record.TeamUID("0123456789abcdef0123456789abcdef")

var start = time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)

const (
	tool = waggle.KindPermissionRequest
	plan = waggle.KindPlanApprovalRequest
	host = waggle.KindSandboxPermissionRequest
)
