package inspect

import "waggle/control"

// ofLead reports a question that the lead's agent asks, which is the operator's to answer.
func (k *probe) ofLead(c *control.Call) bool {
	m, ok := k.s.Lead.ByInstance(c.Instance)
	return ok && m.Leads()
}
