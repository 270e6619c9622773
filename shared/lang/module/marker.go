package module

import "runtime"

// MarkerEnvironment returns the values of marker variables for this machine and a current Python.
// The extra is empty.
func MarkerEnvironment() map[string]string {
	out := map[string]string{
		"python_version": "3.12", "python_full_version": "3.12.0",
		"implementation_version": "3.12.0", "implementation_name": "cpython",
		"platform_python_implementation": "CPython", "os_name": "posix",
		"sys_platform": runtime.GOOS, "platform_system": "Linux",
		"platform_machine": runtime.GOARCH, "extra": "",
	}
	switch runtime.GOARCH {
	case "amd64":
		out["platform_machine"] = "x86_64"
	case "arm64":
		out["platform_machine"] = "aarch64"
	}
	switch runtime.GOOS {
	case "windows":
		out["os_name"], out["sys_platform"], out["platform_system"] = "nt", "win32", "Windows"
	case "darwin":
		out["platform_system"], out["platform_machine"] = "Darwin", runtime.GOARCH
	}
	return out
}
