package protocol

import (
	"fmt"
	"slices"
	"strings"

	"waggle/internal/json/jsontext"
)

// plan reads the plan as markdown, whatever form it has, and seed 000's parts of it.
func (f *frame) plan(p *PlanApprovalRequest, paths []string) {
	object, parts := f.planObject()
	raw, ok := f.find(paths...)
	switch {
	case object != "":
		if ok && (raw[0] != '"' || str(raw) != object) {
			f.contradict("%s differ", strings.Join(paths, " and "))
		}
		p.PlanContent, p.Plan = object, parts
	case !ok:
		f.fail("the plan is missing")
	case raw[0] == '{', raw == `""`: // {}
		f.warn("the plan is empty")
	case raw[0] != '"':
		f.fail("the plan is %s, not text", jsontext.WithArticle(raw))
	default:
		p.PlanContent = str(raw)
	}
}

// planObject renders seed 000's plan object. What the object holds besides is
// rendered too: a reader who approves must see all of it.
func (f *frame) planObject() (string, *Plan) {
	p := &Plan{Goal: f.text(planGoal.paths...), Steps: f.strs(planSteps.paths...), Risks: f.strs(planRisks.paths...), Tooling: f.strs(planTooling.paths...)}
	known := slices.Concat(planGoal.paths, planSteps.paths, planRisks.paths, planTooling.paths)
	plan, _ := splitPath(known[0])
	parts := []string{p.markdown()}
	for _, fd := range f.fields {
		key, inside := strings.CutPrefix(fd.path, plan+".")
		if inside && !slices.Contains(known, fd.path) {
			f.looked[fd.path] = true
			text := fd.raw
			if fd.raw[0] == '"' {
				text = str(fd.raw)
			}
			f.warn("the plan's key %s is not known: shown as it stands", show(key))
			parts, p = append(parts, "## "+oneLine(key)+"\n\n"+text), nil
		}
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, "\n\n"), p
}

// markdown is the plan as a reader is shown it.
func (p *Plan) markdown() string {
	parts := []string{p.Goal, section("Steps", "%d. ", p.Steps), section("Risks", "- ", p.Risks), section("Tooling", "- ", p.Tooling)}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}

// section renders a heading and a list; the lines of an entry stay together.
func section(heading, bullet string, entries []string) string {
	if len(entries) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("## " + heading + "\n")
	for i, entry := range entries {
		mark := bullet
		if strings.Contains(bullet, "%d") {
			mark = fmt.Sprintf(bullet, i+1)
		}
		b.WriteString("\n" + mark + strings.ReplaceAll(entry, "\n", "\n"+strings.Repeat(" ", len(mark))))
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// planApprovalResponse ends the reading of protocol §1.6.
func (f *frame) planApprovalResponse(p *PlanApprovalResponse) Payload {
	v := f.verdict()
	p.Feedback = f.text(planFeedback.paths...)
	if v == undecided {
		f.fail("the answer has no decision field")
	}
	p.Approved = v == allowed
	if !p.Approved && p.PermissionMode != "" {
		f.warn("permissionMode is ignored: the plan is not approved")
		p.PermissionMode = ""
	}
	return *p
}
