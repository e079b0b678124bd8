package mailbox_test

import (
	"testing"

	"waggle/internal/fs/atomicfile"
	"waggle/mailbox"
	"waggle/mailbox/mailboxtest"
)

var layouts = []mailbox.Layout{mailbox.Array, mailbox.JSONL}

var tiers = []atomicfile.Tier{atomicfile.TierExchange, atomicfile.TierRename}

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		mailboxtest.Run(t, func(t *testing.T, o mailbox.Options) mailbox.Store { return mailbox.NewMemory(o) })
	})
	for _, layout := range layouts {
		for _, tier := range tiers {
			t.Run(layout.String()+"/"+tier.String(), func(t *testing.T) {
				needTier(t, tier)
				mailboxtest.Run(t, func(t *testing.T, o mailbox.Options) mailbox.Store {
					o = o.With(tier, atomicfile.SyncNone)
					return openLayout(t, layout, t.TempDir(), o)
				})
			})
		}
	}
}
