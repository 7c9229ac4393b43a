package bridge_test

func (d *day) keep(string) {}
