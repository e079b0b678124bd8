package inspect

import "waggle/control"

// ofLead reports a request of the lead's agent, which the operator has to answer.
func (k *probe) ofLead(c *control.Call) bool {
	m, ok := k.s.Lead.ByInstance(c.Instance)
	return ok && m.Leads()
}
