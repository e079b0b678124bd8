package spawn

func usageStats() ([]stat, error) { return allStats() }
