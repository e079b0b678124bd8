package foreigntest_test

import "strings"

// expected is what has to come of every flow, by role: plain, duplicate, late, forged.
var expected = map[string]map[string][4]string{
	"permission":        {"worker": asks("permission_request", "permission_response (yes)"), "lead": kept},
	"network":           {"worker": asks("sandbox_permission_request", "sandbox_permission_response (yes)"), "lead": kept},
	"plan":              {"worker": asks("plan_approval_request", "plan_approval_response (yes)"), "lead": kept},
	"permission denied": {"lead": kept},
	"shutdown":          {"worker": ends, "lead": kept},
	"shutdown refused":  {"worker": stays},
	"progress":          {"worker": reports},
	"task":              {"worker": reports, "lead": kept},
	"idle":              {"worker": reports, "lead": kept},
	"mode and rules":    {"worker": refused, "lead": kept},
	"words":             {"worker": words, "lead": kept},
}

// asks is what comes of a worker's question: the operator's answer in its dialect, once;
// nothing when it has left; and under an id with two inputs the answer is a denial.
func asks(kind, answer string) [4]string {
	const open = "record seen; open: "
	answered := " → allowed: record decided; record sent; mail: " + answer + " → taken: record closed"
	return [4]string{
		open + kind + answered,
		open + kind + " → 2 times " + open + kind + answered,
		"record seen; record closed; " + left,
		open + kind + " → record unverified; record decided; 2 times record unverified; record sent; mail: " + strings.Replace(answer, "yes", "no", 1),
	}
}

// left is what there is to see of a worker that was removed.
const left = "bob has left; 1 in the registry"

var (
	// reports are shown of the worker and do nothing; in another's name they are not.
	reports = [4]string{"record seen", "record seen → 2 times record seen", "record seen; " + left, "record seen → record seen; 2 times record unverified"}
	// ends are reports after which the worker is no member.
	ends = [4]string{"record seen; record left; " + left, "record seen; record left; " + left + " → 2 times record seen; " + left, "record seen; " + left,
		"record seen; record left; " + left + " → record seen; 2 times record unverified; " + left}
	// stays is a refusal to end: it closes the request, and what comes after it answers nothing.
	stays = [4]string{"record seen", "record seen → 2 times record unverified", "record seen; " + left, "record seen → 3 times record unverified"}
	// refused is what a worker may not send.
	refused = [4]string{"record unverified", "record unverified → 2 times record unverified", "record unverified; " + left, "record unverified → 3 times record unverified"}
	words   = [4]string{"nothing", "nothing → nothing", left, "nothing → nothing"}
	// kept is mail for a member that does not run: it lies in its mailbox and is shown.
	kept = [4]string{"nothing; shown 1 times", "nothing; shown 2 times", "1 in the registry; shown 1 times", "nothing; shown 1 times"}
)
