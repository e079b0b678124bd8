package mailbox_test

import (
	"testing"

	"waggle/internal/atomicfile"
	"waggle/mailbox"
	"waggle/mailbox/mailboxtest"
)

var tiers = []atomicfile.Tier{atomicfile.TierExchange, atomicfile.TierRename}

func TestConformance(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		mailboxtest.Run(t, func(t *testing.T, o mailbox.Options) mailbox.Store { return mailbox.NewMemory(o) })
	})
	for _, tier := range tiers {
		t.Run(tier.String(), func(t *testing.T) {
			needTier(t, tier)
			mailboxtest.Run(t, func(t *testing.T, o mailbox.Options) mailbox.Store {
				o.File.Tier = tier
				return openBox(t, t.TempDir(), o)
			})
		})
	}
}
