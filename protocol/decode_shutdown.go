package protocol

import "cmp"

// decodeShutdownProse reads seed 002's form of a shutdown_request: the type in
// the envelope, the id in its metadata, prose as text (protocol §1.9, 9.1 #4). That
// it comes from the lead is for the caller to check.
func decodeShutdownProse(e Envelope) Decoded {
	f := &frame{env: e, typ: e.Type, looked: map[string]bool{}, read: map[string]bool{}}
	p := ShutdownRequest{RequestID: f.requestID(shutdownID.paths...), From: e.From, Reason: toValid(e.Text), Timestamp: e.Timestamp}
	if f.failed != "" {
		return invalid(e.Type, f.failed)
	}
	return Decoded{
		Kind: KindShutdownRequest, Dialect: DialectAPI, Spellings: []Dialect{DialectAPI}, Type: e.Type, Payload: p,
		Warnings: []string{"the type stands in the envelope and the text is prose: it counts only from the lead"},
	}
}

// carryingShutdown is the envelope of seed 002's form of a shutdown_request.
func (e Envelope) carryingShutdown(r ShutdownRequest) (Envelope, error) {
	var c checks
	c.id(shutdownID.name, r.RequestID)
	if text := cmp.Or(r.Reason, shutdownProse); DecodeText(text).Kind == KindText {
		e.Text, e.Summary, e.Type = text, shutdownSummary, string(KindShutdownRequest)
	} else {
		c.add("%s would be read as a frame", shutdownReason.name)
	}
	if len(c) > 0 {
		return e, &PayloadError{KindShutdownRequest, c}
	}
	var metadata object
	metadata.str(metadataKey, r.RequestID)
	return e.With(keyMetadata, metadata.close())
}

// decodeShutdownAnswerProse reads an answer in the form of seed 002's request: the type in the envelope, the id and
// what else a payload has in its metadata, prose as text. Without an id there it is plain text.
func decodeShutdownAnswerProse(e Envelope) (Decoded, bool) {
	switch Kind(e.Type) {
	case KindShutdownApproved, KindShutdownRejected, typeShutdownResponse:
	default:
		return Decoded{}, false
	}
	if len(metadataIDs(e)) == 0 {
		return Decoded{}, false
	}
	raw, _ := e.Member("metadata")
	facts, ok := scan(string(raw))
	if !ok || facts.tooBig() {
		return Decoded{}, false
	}
	f := newFrame(e, e.Type, string(raw))
	f.faults, f.label = facts.faults(), DialectAPI
	d := f.decode(tableOf(e.Type))
	if no, ok := d.Payload.(ShutdownRejected); ok && no.Reason == "" {
		no.Reason = toValid(e.Text)
		d.Payload = no
	}
	if d.Payload != nil {
		d.Dialect = DialectAPI
	}
	return d, true
}

// shutdownAnswer reads protocol §1.10 and §1.11, and shutdown_response, which
// says either. A yes that anything in the frame contradicts is a no.
func (f *frame) shutdownAnswer() Payload {
	var yes ShutdownApproved
	readFields(f, &yes, shutdownYes)
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
	reason := f.text(shutdownReason.paths...)
	if v != allowed {
		if yes.PaneID != "" || yes.BackendType != "" {
			f.warn("paneId and backendType are ignored: the answer is a no")
		}
		return ShutdownRejected{RequestID: yes.RequestID, From: yes.From, Reason: reason, Timestamp: yes.Timestamp}
	}
	if reason != "" {
		f.warn("the words of a yes are not kept: %s", show(reason))
	}
	return yes
}

// legacy ends the reading of the join_* kinds (protocol §1.17). They are recognised so
// that they are not shown as chat; nothing answers them.
func legacy[P Payload](f *frame, p *P) Payload {
	f.label = DialectLegacy
	return *p
}
