// Package proposal keeps what agents propose to the person: new members, which the person starts or refuses
// (trust §8, "proposals").
//
// A proposal is a file, STATE/proposals/ID.json, and needs no team. Any process of the user may write it, so it is never
// more than a text with a claim about who wrote it: what starts by it is what the person saw, by the person's command.
//
//	store := proposal.At(state, time.Now)
//	p, err := store.Put(ctx, p)                    // checked against the limits
//	all, err := store.List()                       // those that can be read; the error names the others
//	p, err = store.Change(ctx, id, func(p *proposal.Proposal) error { … })
//
// Writers set damaged files aside, and remove what has ended long ago.
package proposal
