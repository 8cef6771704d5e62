// Package straightline measures trips without a road map: the great circle
// between the two ends, lengthened by 1.3, which is about what roads add in
// towns. It makes no request and so never fails on real coordinates.
//
// It stands where no routing engine is configured, and says so in the source of
// each distance. It must not be a fallback for an engine that failed: two equal
// trips would then cost differently without a visible reason.
package straightline
