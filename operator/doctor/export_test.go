package doctor

// HooksOf is hooksOf, for tests.
var HooksOf = hooksOf
