package policy

import "waggle/internal/cmdline"

// commandRisk grades one simple command: what cmdline.LookUp says of it with these
// options, and RiskHigh for everything that the table does not list. Files that it
// writes outside the working directory, credentials that it names, and variables
// that it sets are high.
func (q *question) commandRisk(c []cmdline.Word) Risk {
	if cmdline.NamesCredential(c) {
		return RiskHigh
	}
	switch c[0].Text {
	case "export", "declare", "typeset", "local", "readonly":
		return Risk(cmdline.DeclareRisk(c[1:]))
	}
	f, ok := cmdline.LookUp(c)
	if !ok {
		if cmdline.Transparent(c) {
			return RiskLow // its text is graded for itself
		}
		return RiskHigh
	}
	risk := Risk(f.Risk)
	if cmdline.BaseName(c[0].Text) == "env" {
		for _, w := range c[1:f.Inner] {
			if cmdline.IsAssignment(w.Text) {
				risk = worse(risk, Risk(cmdline.AssignmentRisk(w)))
			}
		}
	}
	for _, w := range f.Outs {
		risk = worse(risk, q.writeRisk(w))
	}
	if f.Write {
		for _, w := range f.Operands {
			risk = worse(risk, q.argRisk(w))
		}
	}
	return risk
}
