package proxy

// Open lists the open connections.
func (p *Proxy) Open() []Connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	var cs []Connection
	for c := range p.open {
		cs = append(cs, c.connection(Opened, ""))
	}
	return cs
}

// Waiting counts the connections that wait for an answer.
func (p *Proxy) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, q := range p.questions {
		n += q.waiting
	}
	return n
}
