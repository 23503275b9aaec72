# Install rules, package files and CPack stand here.
