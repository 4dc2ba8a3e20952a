from perceiver_program import main

main()
