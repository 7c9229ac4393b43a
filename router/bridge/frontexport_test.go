package bridge

// Hold sets how many bytes open requests may hold, and unread answers before reading
// stops, to what a test can reach.
func (f *Front) Hold(most int) { f.most = most }
