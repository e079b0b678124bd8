package waggle

// decodeShutdownRequest reads protocol §1.9.
func decodeShutdownRequest(f *frame) Payload {
	return ShutdownRequest{
		RequestID: f.requestID(),
		From:      f.from(),
		Reason:    f.text("reason"),
		Timestamp: f.timestamp(),
	}
}

// decodeShutdownProse reads seed 002's form of a shutdown_request: the type in
// the envelope, the id in its metadata, prose as text (protocol §1.9, 9.1 #4). That
// it comes from the lead is for the caller to check.
func decodeShutdownProse(e Envelope) Decoded {
	f := &frame{env: e, typ: e.Type, looked: map[string]bool{}, read: map[string]bool{}}
	p := ShutdownRequest{RequestID: f.requestID(), From: e.From, Reason: toValid(e.Text), Timestamp: e.Timestamp}
	if f.failed != "" {
		return invalid(e.Type, f.failed)
	}
	return Decoded{
		Kind: KindShutdownRequest, Dialect: DialectAPI, Type: e.Type, Payload: p,
		Warnings: []string{"the type stands in the envelope and the text is prose: it counts only from the lead"},
	}
}

// decodeShutdownAnswer reads protocol §1.10 and §1.11, and shutdown_response, which
// says either. A yes that anything in the frame contradicts is a no.
func decodeShutdownAnswer(f *frame) Payload {
	id, from, timestamp := f.requestID(), f.from(), f.timestamp()
	pane := f.text("paneId", "tmuxPaneId")
	backend := f.text("backendType")
	v := f.verdict()
	switch Kind(f.typ) {
	case typeShutdownResponse:
		f.label = DialectLegacy
		if v == undecided {
			f.fail("the answer has no decision field")
		}
	case KindShutdownApproved:
		if v == denied {
			f.warn("the type says yes and a field says no: read as a denial")
		} else {
			v = f.crossed()
		}
	case KindShutdownRejected:
		if v == allowed {
			f.warn("the type says no and a field says yes: read as a denial")
		}
		v = denied
	}
	reason := f.reason("reason")
	if v != allowed {
		if pane != "" || backend != "" {
			f.warn("paneId and backendType are ignored: the answer is a no")
		}
		return ShutdownRejected{RequestID: id, From: from, Reason: reason, Timestamp: timestamp}
	}
	if reason != "" {
		f.warn("the words of a yes are not kept: %s", show(reason))
	}
	return ShutdownApproved{RequestID: id, From: from, Timestamp: timestamp, PaneID: pane, BackendType: backend}
}
