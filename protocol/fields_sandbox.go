package protocol

import "strings"

// The fields of the question about the network and of its answer (protocol §1.3, §1.4).

var sandboxPermissionRequestTable = table[SandboxPermissionRequest]{
	rows: []*fieldOf[SandboxPermissionRequest]{
		{name: "requestId", in: "wire:requestId! catalog:1:requestId! also:requestID", as: pairID, doc: "Pairs the answer with it."},
		{name: "workerId", in: "wire:workerId! also:agentId", need: true, as: memberID, doc: "Who asks: NAME@TEAM."},
		{name: "workerName", in: "wire:workerName! also:agentName", turn: 5, need: true, as: text, codec: workerName, doc: "Who asks."},
		{name: "workerColor", in: "wire:workerColor", turn: 1, as: text, doc: "The colour that it is shown in."},
		{name: "hostPattern.host", turn: 6, need: true, decides: true,
			in: "wire:hostPattern.host! also:host_pattern.host,host,hostPattern,hosts catalog:4:details.hostnames! also:details.host",
			as: text, codec: codec[SandboxPermissionRequest]{read: (*frame).askedHosts}, doc: "The host that is asked for; in the catalogue all of them.",
			catalog: func(o *object, key string, p *SandboxPermissionRequest) {
				hosts := p.Hosts
				if len(hosts) == 0 {
					hosts = []string{p.HostPattern.Host}
				}
				o.strs(key, hosts)
			}},
		{name: "createdAt", in: "wire:createdAt! catalog:2:timestamp!", turn: 4, codec: codec[SandboxPermissionRequest]{
			typ: FieldMillis,
			read: func(f *frame, p *SandboxPermissionRequest, paths []string) {
				p.CreatedAt = f.createdAt(paths...)
			},
			write: func(o *object, key string, p *SandboxPermissionRequest) { o.int(key, p.CreatedAt) },
			empty: func(p *SandboxPermissionRequest) bool { return p.CreatedAt == 0 },
			test: func(c *checks, r *fieldOf[SandboxPermissionRequest], p *SandboxPermissionRequest) {
				if p.CreatedAt < 0 {
					c.add("%s is negative", r.name)
				}
			},
		}, catalog: func(o *object, key string, p *SandboxPermissionRequest) { o.str(key, formatMillis(p.CreatedAt)) },
			doc: "When it was asked."},
		{name: "hosts", hidden: true, decides: true, codec: codec[SandboxPermissionRequest]{typ: FieldTexts},
			check: func(c *checks, p *SandboxPermissionRequest) {
				if len(p.Hosts) > 1 || len(p.Hosts) == 1 && p.Hosts[0] != p.HostPattern.Host {
					c.add("hosts cannot be written: send one request for each host")
				}
			}, doc: "All hosts, where a message names several."},
		{name: "capability", in: "catalog:3:capability!", turn: 3, hidden: true, decides: true, codec: codec[SandboxPermissionRequest]{
			typ:   FieldText,
			read:  func(f *frame, p *SandboxPermissionRequest, paths []string) { p.Capability = f.capability(paths...) },
			write: func(o *object, key string, _ *SandboxPermissionRequest) { o.str(key, network) },
			empty: func(*SandboxPermissionRequest) bool { return false },
		}, check: func(c *checks, p *SandboxPermissionRequest) {
			if p.Capability != "" {
				c.add("capability cannot be written: only the network can be asked for")
			}
		}, doc: "What is asked for where it is not the network, which is refused."},
		{name: "reason", in: "catalog:5:details.reason also:reason", turn: 2, hidden: true, as: text, doc: "Why; the wire has no place for it."},
	},
}.build()

// network is the one capability that can be asked for.
const network = "network"

// workerName is the sender's name, or that of its id.
var workerName = codec[SandboxPermissionRequest]{read: func(f *frame, p *SandboxPermissionRequest, paths []string) {
	if name := f.id(paths...); name != "" {
		f.checkMember(paths[0], name)
		p.WorkerName = name
	} else {
		p.WorkerName, _, _ = strings.Cut(p.WorkerID, "@")
	}
}}

var sandboxPermissionResponseTable = table[SandboxPermissionResponse]{
	rows: []*fieldOf[SandboxPermissionResponse]{
		{name: "requestId", in: "wire:requestId! catalog:1:requestId! also:requestID", as: pairID, doc: "The id of the request."},
		sandboxHost,
		{name: "allow", in: "wire:allow! catalog:3:approved!", decides: true,
			codec: flag(func(p *SandboxPermissionResponse) *bool { return &p.Allow }, nil), doc: "The decision."},
		{name: "timestamp", in: "wire:timestamp! catalog:2:timestamp!", as: clock, doc: "When it was decided."},
		{name: "scope", in: "wire:scope catalog:4:scope", as: text, doc: "How far it is meant to reach; a separate act, which an answer does not do."},
		sandboxNotes,
	},
	finish: (*frame).sandboxPermissionResponse,
}.build()

var (
	sandboxHost = &fieldOf[SandboxPermissionResponse]{name: "host", need: true, decides: true,
		in: "also:hostPattern.host,host_pattern.host wire:host! also:hostPattern,hosts,details.hostnames,details.host", as: elsewhere,
		doc: "The host of the request; without it the answer is for the request as a whole."}
	sandboxNotes = &fieldOf[SandboxPermissionResponse]{name: "notes", in: "wire:notes catalog:5:notes also:feedback,reason,error,content,message", as: elsewhere, doc: "Words with the decision."}
)
